"""Messages of a chat, whoever wrote them."""

from collections.abc import Mapping
from typing import Any


def text_of(content: Any) -> str:
    """Return the text of a message's ``content``: a text, parts with texts in them, or None."""
    if isinstance(content, str) or not content:
        return content or ""
    parts = (part.get("text", "") if isinstance(part, Mapping) else part for part in content)
    return "".join(map(str, parts))

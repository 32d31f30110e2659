"""What a Chinese input method or a word processor leaves in a word: full-width characters, curly quotes, dashes.

Standard library alone.
"""

import re
import unicodedata
from collections.abc import Iterable

OTHERS = str.maketrans({"\u3002": ".", **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")})
EDGES = " ,;'\"\u201c\u201d\u2018\u2019"


def plain(text: str) -> str:
    """Return ``text`` as a keyboard without an input method writes it, without quotes and commas at its ends."""
    return unicodedata.normalize("NFKC", text).translate(OTHERS).strip(EDGES)


def flag_meant(word: str, flags: Iterable[str]) -> str:
    """Return the flag that ``word`` is with other dashes or signs, with its value if it has one; empty where none."""
    name, _, value = re.sub("[:,]", "=", plain(word).lstrip("-"), count=1).partition("=")
    return f"--{name} {value}".strip() if name.replace("-", "_") in set(flags) else ""

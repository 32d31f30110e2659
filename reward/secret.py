"""The secrets of the environment, which nobody gets to read: what they are called, and what they look like."""

import os
import re
from collections.abc import Iterator

NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")  # how the names of env vars that hold one end
SHORTEST = 8  # characters; what is shorter would be found in any text
LOOKS_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[\w*-]{6,}|\bAIza[\w*-]{10,}|(?i:bearer)\s+[\w.*~+/=-]{6,}")


def secrets() -> Iterator[tuple[str, str]]:
    """Return the env vars that hold a secret, and the secrets."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and name.upper().endswith(NAMES):
            yield name, value


def scrub(text: str) -> str:
    """Return ``text`` without the secrets of the environment, and without what looks like one."""
    for _, value in secrets():
        text = text.replace(value, "***")
    return LOOKS_SECRET.sub("***", text)

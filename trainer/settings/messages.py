"""Messages in Chinese: ``config/messages.tsv`` has both languages side by side. Standard library alone.

Messages are made in English. Where Chinese is asked for, a line that a row of the table matches as a whole is written
anew, and what its ``{placeholders}`` stand for likewise; parts between semicolons are lines of their own, if the table
has each. A line that the table does not have stays English. English has ``[s]`` where a letter may be missing, and
``[is|are]`` where either may stand: one row is of one thing and of several.
"""

import csv
import functools
import os
import re
from collections.abc import Mapping

from trainer import ROOT

LANGUAGES = ("en", "zh")
ENV = "KIT_LANG"  # what --lang was given
FILE = ROOT / "config" / "messages.tsv"
PLACEHOLDER = re.compile(r"\{(\w+)\}")  # of one letter: a word, such as a number; of more: any text
FORMS = re.compile(r"\[\w+(?:\|\w+)*\]")
EITHER = re.compile(r"\\\[(\w+(?:\\\|\w+)*)\\\]")  # in a text that is escaped
DEEPEST = 6  # placeholders in placeholders


def language(environ: Mapping[str, str]) -> str:
    """Return the language that is asked for: by ``--lang``, else by the locale's env vars."""
    if asked := environ.get(ENV):
        return asked if asked in LANGUAGES else "en"
    locale = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def table() -> list[tuple[str, str]]:
    """Return the messages that people meet most, in English and in Chinese."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [(row["en"], row["zh"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


@functools.cache
def _rows() -> list[tuple[str, str, str]]:
    """Return the longest piece of each English text that has no placeholder, and both texts."""
    rows = []
    for english, chinese in table():
        pieces = PLACEHOLDER.split(FORMS.sub("{s}", english))[::2]
        rows.append((max(pieces, key=len), english, chinese))
    return rows


@functools.cache
def _pattern(english: str) -> re.Pattern[str]:
    parts = PLACEHOLDER.split(english)  # text, name, text, name, ...
    texts = (
        f"(?P<{part}>{r'.+?' if len(part) > 1 else r'[^ ]+?'})" if index % 2 else EITHER.sub(_either, re.escape(part))
        for index, part in enumerate(parts)
    )
    return re.compile("".join(texts), re.DOTALL)


def _either(match: re.Match[str]) -> str:
    words = match[1].split("\\|")
    return f"(?:{'|'.join(words)})" if len(words) > 1 else f"{words[0]}?"


def in_language(text: str) -> str:
    """Return a message, of one line or several, in the language that is asked for."""
    if language(os.environ) == "en":
        return text
    return "\n".join(chinese(line) for line in text.split("\n"))


def chinese(line: str, depth: int = DEEPEST) -> str:
    """Return a line in Chinese, as far as the table has it."""
    for piece, english, template in _rows() if depth else ():
        if piece in line and (match := _pattern(english).fullmatch(line)):  # most rows take no pattern to rule out
            values = {name: chinese(text, depth - 1) for name, text in match.groupdict().items()}
            parts = PLACEHOLDER.split(template)
            return "".join(values[part] if index % 2 else part for index, part in enumerate(parts))
    parts = line.split("; ")
    if depth and len(parts) > 1:
        translated = [chinese(part, depth - 1) for part in parts]
        if all(new != old for new, old in zip(translated, parts, strict=True)):
            return "；".join(translated)
    return line

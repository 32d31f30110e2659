"""Fenced blocks of a Markdown text, by markdown-it-py (CommonMark): of any length, indented, in lists, unclosed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from reward.worker_pool import pool, tasks

LONGEST = 131_072  # characters; of a longer text the end is read
SHORT = 8_192  # characters that Python parses in a moment, whatever they are
PYTHON = frozenset({"python", "py", "python3", "py3", "python2", "ipython", "ipython3"})
JSON = frozenset({"json", "jsonc", "json5"})
MARKDOWN = frozenset({"markdown", "md"})  # a whole answer in a block: its own blocks count
LANGUAGE = re.compile(r"[\s{.]*([\w+#-]*)")
# MBPP's prompt, Code Llama's, and tags.
TAGGED = re.compile(
    r"(?:\[PYTHON\]|\[BEGIN\]|<code>|<answer>)\s*?\n?(.*?)(?:\[/PYTHON\]|\[DONE\]|</code>|</answer>|\Z)", re.DOTALL
)
OPENED = re.compile(r"^```[ ]*(?:python|py)[^\n]*\n", re.MULTILINE | re.IGNORECASE)
GLUED = re.compile(r"(?:```|~~~)[\w+-]{0,20}[ \t\r]*$", re.MULTILINE)  # at the end of a line


@dataclass(frozen=True)
class Block:
    """The language of a block, in lower case and empty where it has none, and its content."""

    language: str
    content: str


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    # Only what can hold a fence; indented text is no block of its own, as a fence that a model indents is meant as one.
    return MarkdownIt("zero", {"maxNesting": 20}).enable(["fence", "list", "blockquote"])


def blocks(text: str) -> tuple[Block, ...]:
    """Return all fenced blocks that are not empty, in order."""
    return _blocks(text[-LONGEST:])


@lru_cache(maxsize=8)  # what follows asks for the same text again; 100,000 characters of lists take seconds
def _blocks(text: str) -> tuple[Block, ...]:
    if "```" not in text and "~~~" not in text:
        return ()
    parsed: list[Block] = []
    for token in _fences(text):
        block = Block(_language(token.info), token.content)
        inner = _fences(block.content) if block.language in MARKDOWN else []
        parsed += [Block(_language(node.info), node.content) for node in inner] or [block]
    return tuple(parsed)


def _fences(text: str) -> list[Any]:
    return [token for token in _parser().parse(text) if token.type == "fence" and token.content.strip()]


def _language(info: str) -> str:
    """The language of an info string: ``Python``, ``{.python}``, ``python:a.py``, ``python,linenos``."""
    return LANGUAGE.match(info)[1].lower()  # type: ignore[index]


def code(response: str, *names: str) -> str:
    """Return the Python code of a response: its last block tagged as Python, else its last untagged one.

    A block that defines the most of ``names`` goes before others, such as an example of their use; of untagged blocks
    one that is Python goes first. Blocks of other languages are never code. A response without a block is code as a
    whole, up to a fence that the prompt opened, or what stands between the tags of MBPP's prompts.

    Raises:
        AnswerFault: it is written to stall a parser.
    """
    response = _without_thoughts(response, _is_python)
    if names:
        any_name = "|".join(map(re.escape, names))
        defines = re.compile(rf"^[ \t]*(?:async\s+def|def|class)\s+({any_name})\b", re.MULTILINE)
        contents = [block.content for block in blocks(response) if block.language in PYTHON]
        ranked = [(len(set(defines.findall(content))), content) for content in contents]
        most = max((count for count, _ in ranked), default=0)
        for count, content in reversed(ranked):
            if 0 < count == most and _is_python(content):  # fences in its own text may have cut it
                return content
    picked = _pick(response, PYTHON, _is_python, others=False)
    if _is_python(picked) and picked is not response:
        return picked
    # Code whose text has fences of its own: from its opening to the last closing one.
    opened = OPENED.search(response)
    whole = response[opened.end() : response.rfind("\n```") + 1] if opened else ""
    if whole and _is_python(whole):
        return whole
    before = re.split(r"^(?:```|~~~)", response[-LONGEST:], maxsplit=1, flags=re.MULTILINE)[0]
    tagged = TAGGED.search(before)
    return next((text for text in (tagged[1] if tagged else "", before) if text.strip() and _is_python(text)), picked)


def document(response: str) -> str:
    """Return the JSON of a response: its last block tagged so, else its last block that is JSON, else all of it."""
    response = _without_thoughts(response, _is_json)
    picked = _pick(response, JSON, _is_json, others=True)
    tagged = TAGGED.search(picked) if picked is response else None
    return tagged[1] if tagged and _is_json(tagged[1]) else picked


def _without_thoughts(response: str, fits: Callable[[str], bool]) -> str:
    """What follows the last ``</think>``, if anything does, and the tag is not part of the code itself."""
    _, end, after = response.rpartition("</think>")
    return after.lstrip("\r\n") if end and after.strip() and not fits(response) else response


def _pick(response: str, languages: frozenset[str], fits: Callable[[str], bool], others: bool) -> str:
    candidates = blocks(response)
    if not any(block.language in languages and fits(block.content) for block in candidates):
        # CommonMark wants a fence on a line of its own; a model forgets it.
        separated = blocks(_unglued(response[-LONGEST:]))
        if any(block.language in languages and fits(block.content) for block in separated) or not candidates:
            candidates = separated
    tagged = [block.content for block in candidates if block.language in languages]
    if tagged:
        return tagged[-1]
    rest = [block.content for block in candidates if others or not block.language]
    fitting = [content for content in rest if fits(content)]
    if fitting:
        return fitting[-1]
    if candidates and not others:
        return rest[-1] if rest else ""
    return response


def _unglued(text: str) -> str:
    """Put each fence at the end of a line on a line of its own; in time linear in the text."""

    def unglued(match: re.Match[str]) -> str:
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        return f"\n{match[0]}" if before.strip("`~ \t\r\f\v") else match[0]

    return GLUED.sub(unglued, text)


@lru_cache(maxsize=8)
def _is_python(content: str) -> bool:
    """Whether it is a program, not a value that one printed.

    Raises:
        AnswerFault: it is written to stall the parser, which takes the square of some texts' lengths.
    """
    if len(content) <= SHORT:
        return tasks.python(content)
    return pool.ask_about_answer("python", {"text": ""}, text=content)


def _is_json(content: str) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True

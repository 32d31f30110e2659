"""Filling a scoring prompt with texts that nobody has to trust.

The policy writes the response and wants a high score. So: placeholders are filled in one pass (a response that holds
``{ground_truth}`` stays as it is); each text stands between two marker lines with a code that cannot be in it; each of
its lines begins with ``| ``, so nothing in it can pass for a line of ours or of the judge's; what a chat template
takes for a role tag is spelt otherwise, and invisible characters are left out.
"""

import hashlib
import re
from collections.abc import Mapping

from reward.judge.prompts.control_tokens import respell

PLACEHOLDERS = ("prompt", "response", "ground_truth")
PATTERN = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}", re.ASCII)  # {{name}} is a literal {name}
LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Control characters, soft hyphen, zero-width and bidirectional marks, fillers, variation selectors, tag characters.
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)


def placeholders(template: str) -> set[str]:
    """Return the names in braces that ``template`` holds."""
    return {match[2] for match in PATTERN.finditer(template) if match[2]}


def fill(template: str, values: Mapping[str, str], on_lines: bool = False) -> str:
    """Return ``template`` with each ``{name}`` of ``values`` filled, in one pass; other braces stay.

    With ``on_lines`` each value stands on lines of its own.
    """

    def value(match: re.Match[str]) -> str:
        if match[1]:
            return f"{{{match[1]}}}" if match[1] in values else match[0]
        if match[2] not in values:
            return match[0]
        before = "\n" * (on_lines and template[: match.start()][-1:] not in ("", "\n"))
        after = "\n" * (on_lines and template[match.end() :][:1] not in ("", "\n"))
        return before + values[match[2]] + after

    return PATTERN.sub(value, template)


def visible(text: str) -> str:
    """Return ``text`` with one kind of line end and without characters that nobody sees."""
    return INVISIBLE.sub("", LINE_ENDS.sub("\n", text))


def neutral(text: str) -> str:
    """Return ``text`` such that no tokenizer and no chat template finds a control token in it."""
    return respell(visible(text))


def shorten(text: str, most: int) -> str:
    """Return ``text``, without its middle where it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n[... {len(text) - head - tail:,} characters left out ...]\n{text[len(text) - tail :]}"


def code_of(*texts: str) -> str:
    """Return 12 characters that none of ``texts`` holds: a hash of them, so the same texts give the same prompt."""
    for attempt in range(1_000):
        whole = "\0".join((str(attempt), *texts)).encode(errors="surrogatepass")
        code = hashlib.blake2b(whole, digest_size=6).hexdigest()
        if not any(code in text for text in texts):
            return code
    raise AssertionError("a text that holds a thousand of its own hashes")


def fence(name: str, text: str, code: str) -> str:
    """Return ``text`` between marker lines, each of its lines quoted."""
    quoted = "\n".join(f"| {line}" for line in text.split("\n"))
    return f"BEGIN {name} {code}\n{quoted}\nEND {name} {code}"

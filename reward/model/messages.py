"""A conversation on its way to a reward model: plain messages, with nothing in them that a template would obey."""

import re
from collections.abc import Iterable
from typing import Any

from reward.support.chat import text_of

Messages = list[dict[str, str]]  # role and content; the last is the assistant's, which is scored


def conversation(prompt: Any, response: str) -> Messages:
    """Return ``prompt``, a text or chat messages, and ``response`` as plain messages.

    Content in parts keeps its texts. System messages and earlier turns are kept.
    """
    turns: Iterable[Any] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    messages = [{"role": str(turn["role"]), "content": text_of(turn["content"])} for turn in turns]
    return [*messages, {"role": "assistant", "content": response}]


def special_tokens(tokenizer: Any) -> set[str]:
    """Return the texts that ``tokenizer`` reads as control tokens."""
    added = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    return {*tokenizer.all_special_tokens, *added} - {""}


def pattern(tokens: Iterable[str]) -> re.Pattern[str]:
    """Return what finds any of ``tokens``, the longest where one begins another."""
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))) or r"(?!)")


def without(text: str, control: re.Pattern[str]) -> str:
    """Remove what ``control`` finds in ``text``, and what removing puts together anew.

    A response could otherwise close its own turn and write the next: text of the policy is hostile.
    """
    removed = 1
    while removed:
        text, removed = control.subn("", text)
    return text


def cleaned(messages: Messages, control: re.Pattern[str]) -> Messages:
    """Return ``messages`` without control tokens, the policy's and the reward model's."""
    return [{"role": turn["role"], "content": without(turn["content"], control)} for turn in messages]

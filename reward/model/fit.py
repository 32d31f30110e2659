"""Shortening a conversation to a model's length: the prompt loses its left, and what it lost is counted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reward.model.messages import Messages

Size = Callable[[Messages], int]  # the tokens that the model would see
TRIES = 8  # as a shorter text may have more tokens than the count of those taken away says


@dataclass(frozen=True)
class Fitted:
    """A conversation that fits, and how many tokens it was over before."""

    messages: Messages
    cut: int = 0


def fit(messages: Messages, size: Size, limit: int, tokenizer: Any) -> Fitted:
    """Return ``messages`` within ``limit`` tokens.

    First the oldest turns go, then the left of the last prompt, then the system prompt; only a response that is too
    long by itself loses its end.

    Raises:
        ValueError: the template alone is longer than ``limit``.
    """
    over = size(messages) - limit
    if over <= 0:
        return Fitted(messages)
    system, turns = _split(messages)
    while len(turns) > 2 and size([*system, *turns]) > limit:
        turns = turns[2:] if len(turns) > 3 else turns[-2:]

    def excess(messages: Messages) -> int:
        return size([*system, *messages]) - limit

    if len(turns) > 1:
        turns = _shorten(turns, -2, True, excess, tokenizer)
    if excess(turns) > 0:
        system = []
    turns = _shorten(turns, -1, False, excess, tokenizer)
    if excess(turns) > 0:
        raise ValueError(f"the template alone has more than {limit} tokens")
    return Fitted([*system, *turns], over)


def _split(messages: Messages) -> tuple[Messages, Messages]:
    first = 1 if messages[0]["role"] == "system" else 0
    return messages[:first], messages[first:]


def _shorten(turns: Messages, index: int, from_left: bool, over: Callable[[Messages], int], tokenizer: Any) -> Messages:
    """Take tokens from one side of the turn at ``index`` until ``over`` is 0 or it is empty."""
    for _ in range(TRIES):
        excess = over(turns)
        text = turns[index]["content"]
        if excess <= 0 or not text:
            return turns
        offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        if from_left:  # several tokens may begin at one character
            kept = text[next((start for start, _ in offsets[excess:] if start > 0), len(text)) :]
        else:
            kept = text[: offsets[len(offsets) - excess][0]] if excess < len(offsets) else ""
        turns = [*turns]
        turns[index] = {**turns[index], "content": kept}
    if over(turns) > 0:
        turns = [*turns]
        turns[index] = {**turns[index], "content": ""}
    return turns

"""Patterns of a tool parser's under a time limit: on what a policy writes, some take the cube of its length."""

import time
from contextvars import ContextVar
from functools import partial
from typing import Any

import regex

SECONDS = 1.0  # of processor time, for all patterns of a turn; those of an honest one take a millisecond
SHORTEST = 0.001  # seconds; with 0, there is no limit
MATCHING = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split", "splititer")
BY_FUNCTION = ("gpt-oss",)  # hands its patterns to functions of ``regex``, which take no other; none takes the cube
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


class TimedPattern:
    """A pattern of the module ``regex``; beyond the time limit of the turn it raises TimeoutError."""

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the pattern; what matches has the time that is left of the turn."""
        attribute = getattr(self._pattern, name)
        if name not in MATCHING:
            return attribute
        deadline = _deadline.get()
        if deadline is None:
            deadline = time.process_time() + SECONDS
            _deadline.set(deadline)
        return partial(attribute, timeout=max(SHORTEST, deadline - time.process_time()))


def begin_turn() -> None:
    """Let the time limit begin with the first use of a pattern in this task: other turns may come before that."""
    _deadline.set(None)


def limit_patterns(name: str, parser: Any) -> Any:
    """Return ``parser``, called ``name``, with its own patterns under the limit."""
    for attribute, value in [] if name in BY_FUNCTION else list(vars(parser).items()):
        if isinstance(value, regex.Pattern):
            setattr(parser, attribute, TimedPattern(value))
    return parser

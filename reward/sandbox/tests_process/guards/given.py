"""What the tests have given the code in a call: a callback that fails on anything else has found the code wrong.

Code may try values on a callback that asserts until one is good, and swallow the errors. An error about a value of the
tests' own (``safe_map(validate, [1, -1])``) is not one of these.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MOST_OF_A_RANGE = 1 << 16
MOST_REFUSED = 16  # values that a callback may refuse by an error before the only one that it takes


class Given:
    """The arguments of the calls that have not ended, and what callbacks have returned meanwhile, as JSON."""

    def __init__(self) -> None:
        self._calls: list[list[Any]] = []
        self.unsought: list[BaseException] = []  # failed checks of callbacks, on values that the tests had not given
        self._refused: dict[int, tuple[set[str], BaseException]] = {}  # callback -> what else it did not take, an error
        self._taken: dict[int, set[str]] = {}  # callback -> what it did

    @contextmanager
    def call(self, values: list[Any]) -> Iterator[None]:
        """Note the arguments of a call until it has ended."""
        self._calls.append([*values])
        try:
            yield
        finally:
            self._calls.pop()

    def note(self, error: BaseException, values: Any) -> None:
        """Note a failed check of a callback, of which the code has chosen the arguments."""
        if not self._has(values):
            self.unsought.append(error)

    def note_refused(self, callback: int, error: BaseException, values: Any) -> None:
        """Note an error of a callback that is no failed check, where the code has chosen the arguments."""
        refused, _ = self._refused.setdefault(callback, (set(), error))
        if len(refused) <= MOST_REFUSED and not self._has(values):
            refused.add(json.dumps(values))

    def note_taken(self, callback: int, values: Any) -> None:
        """Note arguments with which a callback has returned."""
        taken = self._taken.setdefault(callback, set())
        if callback in self._refused and len(taken) < 2:
            taken.add(json.dumps(values))

    def tried(self) -> Iterator[BaseException]:
        """Yield errors of callbacks on which the code has tried many values, of which one was good."""
        for callback, (refused, error) in self._refused.items():
            if len(refused) > MOST_REFUSED and len(self._taken.get(callback, ())) == 1:
                yield error

    def add(self, value: Any) -> None:
        """Note what a callback has returned."""
        if self._calls:
            self._calls[-1].append(value)

    def _has(self, values: Any) -> bool:
        """Whether each of some values, as JSON from the code, is a part of what the tests gave."""
        parts = [part for call in self._calls for value in call for part in _parts(value)]
        known = {*map(json.dumps, parts)}
        texts = [part for part in parts if type(part) is str]
        return all(
            json.dumps(value) in known or (type(value) is str and any(value in text for text in texts))
            for value in values
        )


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value as JSON, and the items that it is made of."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        if type(part) is list:
            waiting += part
        elif type(part) is dict:
            waiting += part.values()
            if type(bounds := part.get("range")) is list:
                waiting += range(*bounds)[:MOST_OF_A_RANGE]

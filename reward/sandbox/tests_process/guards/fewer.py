"""Results that end before what is due: ``zip(f(3), [1, 2, 3])`` compares no more items than the code has returned."""

from collections import deque
from collections.abc import Iterator
from typing import Any

LAST = 16  # results and arguments that are remembered: they may be large
LONGEST = 4096  # items of a list of which another may be a part
MOST = 1024  # tables that are remembered
TABLES = (list, tuple, dict)


class Fewer:
    """Notes where tests hold a result of the code's against a longer container of their own.

    What they have given the code, or a part of that, says nothing of how long a result is to be; nor does a table that
    they hold against results of more than one length.
    """

    def __init__(self) -> None:
        self.is_shortened = False  # the code's lists lack their last item
        self._returned: deque[Any] = deque(maxlen=LAST)
        self._given: deque[Any] = deque(maxlen=LAST)
        self._lengths: dict[int, tuple[Any, set[int]]] = {}  # id of a table -> it, the lengths of results beside it

    def note_call(self, given: list[Any], result: Any) -> Any:
        """Note what the code was given and has returned; return that, without its last item where it is to lack it."""
        self._given += [given, *(value for value in given if type(value) in TABLES)]
        if type(result) not in TABLES and type(result).__name__ != "ndarray":
            return result
        if self.is_shortened and type(result) in (list, tuple) and len(result) > 1:
            result = result[:-1]
        self._returned.append(result)
        return result

    def compare(self, result: Any, tables: list[Any], is_iterator: bool) -> Any:
        """Note the length of a result beside tables; return it, or an iterator of the code's as one that is counted."""
        if is_iterator:
            return self._counted(result, tables)
        if any(result is known for known in self._returned):
            self._note(len(result), tables)
        return result

    def __bool__(self) -> bool:
        """Whether a result was shorter than what it was held against."""
        return any(len(lengths) == 1 and min(lengths) < len(table) for table, lengths in self._lengths.values())

    def _counted(self, items: Any, tables: list[Any]) -> Iterator[Any]:
        count = 0
        for item in items:
            count += 1
            yield item
        self._note(count, tables)

    def _note(self, length: int, tables: list[Any]) -> None:
        due = [table for table in tables if type(table) in TABLES and table]
        if not due or any(length >= len(table) and not self._is_returned(table) for table in due):
            return
        for table in due:
            if not self._is_known(table) and (len(self._lengths) < MOST or id(table) in self._lengths):
                self._lengths.setdefault(id(table), (table, set()))[1].add(length)

    def _is_returned(self, table: Any) -> bool:
        return any(table is known for known in self._returned)

    def _is_known(self, table: Any) -> bool:
        """Whether the code has returned it, or was given it or a list that it is a part of."""
        return self._is_returned(table) or any(table is known or _is_part(table, known) for known in self._given)


def _is_part(table: Any, whole: Any) -> bool:
    """Whether the items of a list stand beside one another in a longer one: ``xs[1:]``."""
    if type(table) is dict or type(whole) is dict or not len(table) < len(whole) <= LONGEST:
        return False
    ids, wanted = [*map(id, whole)], [*map(id, table)]
    return any(ids[start : start + len(wanted)] == wanted for start in range(len(ids) - len(wanted) + 1))

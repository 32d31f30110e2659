"""Failed checks of the tests' own, whatever becomes of them: in a task or a thread an exception is easily lost."""

import contextlib
import itertools
import math
import operator
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from reward.sandbox import instrument, wire
from reward.sandbox.copies import not_finite
from reward.sandbox.objects import OBJECTS
from reward.sandbox.tests_process.guards import tolerances
from reward.sandbox.tests_process.guards.loops import Loops
from reward.sandbox.tests_process.link.remote import Link

SIZED = (list, tuple, str, bytes, bytearray, set, frozenset, dict, deque, range, *wire.VIEWS)
ORDERS: tuple[Callable[[Any, Any], Any], ...] = (operator.lt, operator.le, operator.gt, operator.ge)


class Failures:
    """Notes what instrumented tests tell (``reward/sandbox/instrument.py``)."""

    def __init__(self, link: Link, handed: set[str]) -> None:
        self._link, self._handed = link, handed
        self._noted: list[BaseException] = []
        self._raised: list[BaseException] = []  # of the former those that the tests may have raised without an assert
        self._forbidden: list[BaseException] = []  # and those that say that a function must not be called

    def __bool__(self) -> bool:
        """Whether a check has failed that nothing handled."""
        return bool(self._link.given.unsought) or any(not self._is_settled(error) for error in self._noted)

    def _is_settled(self, error: BaseException) -> bool:
        """Whether it was raised to the code by a callback, whose result is checked, or whose last call was good."""
        is_through_code = any(error is raised for raised in self._link.raised)
        is_last = any(error is last and name in self._handed for name, last in self._link.unsettled.values())
        return is_through_code and (not is_last or any(error is forbidden for forbidden in self._forbidden))

    def note(self, kind: str) -> None:
        """Note the exception at hand, by which a check has failed; not the end of a task or of the tests."""
        error = sys.exc_info()[1]
        if error is None:
            return
        if (
            isinstance(error, Exception) or type(error).__name__ == "Failed" or self._link.is_of_code(error)
        ):  # of pytest
            self._noted.append(error)
            self._raised += [error] * (kind == instrument.BRANCH)
            self._forbidden += [error] * (kind == instrument.FORBIDDEN)

    def note_of_thread(self, ended: Any) -> None:
        """Note an exception of the code's by which a thread of the tests' has ended; ``threading.excepthook``."""
        if ended.exc_value is not None and self._link.is_of_code(ended.exc_value):
            self._noted.append(ended.exc_value)

    def forget_handled(self) -> None:
        """Forget the exception at hand, of which the tests make something; without one, all: it was asked for."""
        error = sys.exc_info()[1]
        handled: list[BaseException] = []
        while error is not None and all(error is not settled for settled in handled):
            handled.append(error)
            error = error.__context__
        for errors in (self._noted, self._link.given.unsought):
            errors[:] = [noted for noted in errors if handled and all(noted is not one for one in handled)]

    def forget_swallowed(self) -> None:
        """Forget the exception at hand, of which the tests make nothing; not a failed assertion of their own."""
        error = sys.exc_info()[1]
        if isinstance(error, AssertionError) and not self._link.is_of_code(error):
            return
        if any(error is raised for raised in self._raised) and not self._link.is_of_code(error):
            self._link.refuse(f"the tests raise {type(error).__name__}, catch it, and make nothing of it")
        self.forget_handled()

    def noting(self, method: Callable[..., None]) -> Callable[..., None]:
        """Return a method of unittest's results that notes what it is told."""

        def noted(result: Any, test: Any, error: Any) -> None:
            self._noted.append(error[1])
            method(result, test, error)

        return noted


def count_check(checked: list[int], vacuous: list[int], entered: set[str], *names: str) -> None:
    """Count a check that has run: not one of all items of nothing."""
    if vacuous:
        vacuous.clear()
    else:
        checked.append(1)
        entered.update(names)


def over_items(vacuous: list[int], loops: Loops, function: Any, *items: Any) -> Any:
    """Return what ``all``, ``any`` or ``sum`` says of items; note that there are none."""
    if function not in (all, any, sum, math.fsum) or len(items) != 1:
        return function(*items)
    left = iter(items[0])
    loops.note(function.__name__)
    for first in left:
        loops.note(function.__name__, "round")
        return function(itertools.chain([first], left))
    vacuous.append(1)
    return function(())


def compare_by_order(order: int, left: Any, right: Any, tolerance: int, limit: int) -> Any:
    """Return ``left < right`` or another order of ``instrument.ORDERS``.

    Args:
        order: the place of the operator in ``ORDERS``.
        left: of the operator.
        right: of the operator.
        tolerance: which side, 0 or 1, is a multiple beside a difference; -1 for neither.
        limit: which side says how large a difference may be; -1 for neither.

    Raises:
        AssertionError: the side that could be the larger one is not a number, and no limit would ever be exceeded; or
            what the code returned makes the tolerance infinite, and no difference would ever exceed it.
        Unsupported: the tests themselves have an infinite limit.
    """
    result = ORDERS[order](left, right)
    if _has_any(left if order > 1 else right, "isnan"):
        raise AssertionError("a NaN is compared by order")
    if tolerance >= 0 and _has_any((left, right)[tolerance], "isinf"):
        raise AssertionError("an infinite tolerance")
    if limit >= 0 and not not_finite.SEEN and tolerances.is_boundless((left, right)[limit]):
        raise tolerances.refused()
    return result


def _has_any(value: Any, question: str) -> bool:
    """Whether a value is a NaN, or infinite; or an array has such, after the code has returned what is not finite."""
    if isinstance(value, float):
        return bool(getattr(math, question)(value)) and (question == "isnan" or bool(not_finite.SEEN))
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.floating)) or value.dtype.kind != "f":
        return False
    return bool(not_finite.SEEN and getattr(numpy, question)(value).any())


def beside(result: Any, *due: Callable[[], Any]) -> Any:
    """Return a result of the code's over which a loop goes that looks up what is due (``instrument.indexed``)."""
    tables: list[Any] = []
    for table in due:
        with contextlib.suppress(NameError):
            tables.append(table())
    assert OBJECTS.link is not None
    return OBJECTS.link.fewer.compare(result, tables, OBJECTS.number(result) is not None)


class Paired(zip):  # type: ignore[type-arg]
    """The ``zip`` of tests: a loop over pairs of nothing and what is due would check nothing.

    Neighbours of one item (``zip(r, r[1:])``) are none.
    """

    __module__, __qualname__ = "builtins", "zip"  # as which it may be handed to the code (``free_names``)
    stands_for = zip

    def __new__(cls, *items: Any, **options: Any) -> Any:
        """Return the pairs.

        Raises:
            AssertionError: there is nothing on one side, and something on the other.
        """
        return super().__new__(cls, *_not_empty(items), **options)


class Mapped(map):  # type: ignore[type-arg]
    """The ``map`` of tests, over pairs as ``Paired``."""

    __module__, __qualname__ = "builtins", "map"
    stands_for = map

    def __new__(cls, function: Any, *items: Any) -> Any:
        """Return the results.

        Raises:
            AssertionError: there is nothing on one side, and something on the other.
        """
        return super().__new__(cls, function, *(_not_empty(items) if len(items) > 1 else items))


def _not_empty(items: tuple[Any, ...]) -> list[Any]:
    """Return what is paired; an iterator of the code's has given its first item.

    Raises:
        AssertionError: there is nothing on one side, and something on the other.
    """
    sizes = [len(item) for item in items if isinstance(item, SIZED) or hasattr(item, "dtype")]
    if max(sizes, default=0) < 2:
        return [*items]
    paired = [item if OBJECTS.number(item) is None else _begun(item) for item in items]
    if not min(sizes) or any(item is None for item in paired):
        raise AssertionError("nothing, where something is due")
    fewer = OBJECTS.link.fewer if OBJECTS.link else None
    if fewer is None:
        return paired
    pairs = zip(paired, items, strict=True)
    return [fewer.compare(item, [*items], OBJECTS.number(source) is not None) for item, source in pairs]


def _begun(item: Any) -> Any:
    left = iter(item)
    return next((itertools.chain([first], left) for first in left), None)

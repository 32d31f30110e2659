"""The operators that stand-ins forward, by name: the only special methods that a class of the code's can have here."""

import contextlib
import random
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from reward.sandbox.objects import OBJECTS, exact, operate, trusted

CHUNK = 1024  # most items of an iterator that are fetched at once
ONE_BY_ONE = 256  # items that are fetched singly before: an iterator may wait for ever behind what the tests take


def await_there(self: Any) -> Generator[Any, None, Any]:
    """Run an awaitable to its end in the code's process."""
    return operate("await", self)
    yield


def _awaitable(name: str) -> Callable[..., Any]:
    async def method(self: Any, *args: Any) -> Any:
        try:
            return operate(name, self, *args)
        except RuntimeError as error:
            if error.args[:1] == ("StopAsyncIteration",):
                raise StopAsyncIteration from None
            raise

    return method


def _asked(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: operate(name, self, *args, **kwargs)


def _measured(name: str, kind: type | None = None) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        result = trusted(name, self, *args)
        return result if kind is None else exact(kind, result)

    return method


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if OBJECTS.number(other) is None and not OBJECTS.is_made(self):
            return NotImplemented
        result = operate(name, other, self) if reflected else operate(name, self, other)
        return OBJECTS.note_made(result) if OBJECTS.is_made(self) or result is self else result

    return method


def equals(self: Any, other: Any) -> bool:
    """Whether an object that the tests made equals plain data, and not most other data of its kind as well.

    An ``__eq__`` of the code's that is always true would pass for any value; it cannot tell which one is asked for.
    """
    values = [other, *_others(other)]
    places = random.SystemRandom().sample(range(len(values)), len(values))
    answers = {place: _answer(self, values[place], is_wanted=not place) is True for place in places}
    return answers.pop(0) and sum(answers.values()) < 2


def _answer(self: Any, other: Any, is_wanted: bool) -> Any:
    """Return what the code says; its errors about a value that is not asked for are nobody's."""
    assert OBJECTS.link is not None
    with contextlib.nullcontext() if is_wanted else contextlib.suppress(Exception):
        known = len(OBJECTS.link.errors)
        try:
            return operate("eq", self, other)
        finally:
            if not is_wanted:
                del OBJECTS.link.errors[known:]


def _others(value: Any) -> list[Any]:
    """Return three values of a kind with ``value``, none of them equal to it."""
    if isinstance(value, (int, float, complex)) and type(value) is not bool:
        return [number for number in (value + 1, 2 * value + 3, -value - 5, 41, -7, 0.5) if number != value][:3]
    if type(value) is str:
        return [f"{value}x", f"9{value}", f"{value[1:]}?!"]
    if type(value) in (list, tuple):
        return [type(value)([*value, *more]) for more in ([0], ["x"], [None, 1])]
    if type(value) is dict:
        return [value | {more: more} for more in ("x", 7919, ("x",))]
    if type(value) in (set, frozenset):
        return [value | {more} for more in ("x", 7919, ("x",))]
    return [7919, "x", ["x"]]


def _enter(self: Any) -> Any:
    made = OBJECTS.is_made(self)
    result = operate("enter", self)
    return OBJECTS.note_made(result) if made else result


def _exit(self: Any, kind: Any, error: Any, trace: Any) -> Any:
    """Leave a ``with``; no context of the code's makes a failed assertion good."""
    done = operate("exit", self, kind, error, None)
    return done is True and not isinstance(error, AssertionError)


async def _aexit(self: Any, kind: Any, error: Any, trace: Any) -> Any:
    """Leave an ``async with``, as ``_exit``."""
    return operate("aexit", self, kind, error, None) is True and not isinstance(error, AssertionError)


def _iter(self: Any) -> Any:
    return operate("iter", self)


def _next(self: Any) -> Any:
    """Return the next item; after the first few they are fetched by the dozen."""
    number = OBJECTS.number(self)
    assert number is not None
    buffer = OBJECTS.buffers.setdefault(number, deque(maxlen=None))
    if not buffer:
        count = _taken.get(number, 0)
        size = 1 if count < ONE_BY_ONE else min(CHUNK, count)
        items = exact(list, operate("next", self, size))
        if not items:
            raise StopIteration
        _taken[number] = count + len(items)
        buffer.extend(items)
    return buffer.popleft()


def take(iterator: Any, *sent: Any) -> list[Any]:
    """Return the next item of an iterator of the tests', for the code, in a list; an empty one at its end."""
    try:
        return [iterator.send(*sent) if sent else next(iterator)]
    except StopIteration:
        return []


_taken: dict[int, int] = {}  # number of an iterator -> items fetched
ARITHMETIC = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"),
    "divmod",
)
COMPARISONS = ("lt", "le", "gt", "ge")
OPERATORS: dict[str, Any] = {
    "__call__": _asked("call"),
    "__iter__": _iter,
    "__next__": _next,
    "__enter__": _enter,
    "__exit__": _exit,
    "__await__": await_there,
    "__aiter__": _asked("aiter"),
    "__anext__": _awaitable("anext"),
    "__aenter__": _awaitable("aenter"),
    "__aexit__": _aexit,
    "__len__": _measured("len", int),
    "__getitem__": _measured("getitem"),
    "__setitem__": _measured("setitem"),
    "__delitem__": _measured("delitem"),
    "__contains__": _measured("contains", bool),
    "__reversed__": _measured("reversed"),
    "__int__": _measured("int", int),
    "__float__": _measured("float", float),
    "__abs__": _measured("abs"),
    "__neg__": _measured("neg"),
    "__pos__": _measured("pos"),
    "__invert__": _measured("invert"),
    "__round__": _measured("round"),
    "__floor__": _measured("floor"),
    "__ceil__": _measured("ceil"),
    **{f"__{name}__": _binary(name) for name in (*ARITHMETIC, *COMPARISONS)},
    **{f"__r{name}__": _binary(name, reflected=True) for name in ARITHMETIC},
    **{f"__i{name}__": _binary(f"i{name}") for name in ARITHMETIC if name != "divmod"},
}

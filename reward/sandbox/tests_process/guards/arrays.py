"""Empty arrays of the code's: numpy compares one with any number, finds nothing, and ``all`` of nothing is true."""

import importlib.util
from collections.abc import Iterator
from functools import cache
from typing import Any

from reward.sandbox.copies import not_finite
from reward.sandbox.tests_process.guards import tolerances

FAULT = "an empty array, compared with what is not empty"
COUNTERS = {"count_nonzero", "nonzero", "flatnonzero", "argwhere", "where"}
COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def guarded(value: Any) -> Any:
    """Return an array of numpy's; what a comparison of an empty one with a number gives has no ``all``."""
    return value if value.size else value.view(_empty_array())


@cache
def _empty_array() -> Any:
    import numpy

    def plain_of(value: Any) -> Any:
        return value.view(numpy.ndarray) if isinstance(value, Empty) else value

    class Empty(numpy.ndarray):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            is_vacuous = any(isinstance(operand, Vacuous) for operand in inputs)
            is_other = any(isinstance(operand, Different) for operand in inputs)
            if ufunc.__name__ in COMPARISONS:
                is_vacuous = any(numpy.size(operand) for operand in inputs)
                is_other = is_vacuous and ufunc.__name__ in ("equal", "not_equal")
            if ufunc is numpy.subtract and any(numpy.size(operand) for operand in inputs):
                raise AssertionError("an empty array less what is not empty")
            is_total = ufunc is numpy.logical_and or (is_other and ufunc in (numpy.logical_or, numpy.add))
            if is_vacuous and is_total and method == "reduce":
                raise AssertionError(FAULT)
            plain = [plain_of(operand) for operand in inputs]
            options |= {"out": tuple(map(plain_of, options["out"]))} if options.get("out") else {}
            result = getattr(ufunc, method)(*plain, **options)
            is_empty = isinstance(result, numpy.ndarray) and not result.size
            return result.view(Different if is_other else Vacuous if is_vacuous else Empty) if is_empty else result

        def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
            if function.__name__ in COUNTERS and any(isinstance(argument, Different) for argument in args):
                raise AssertionError(FAULT)
            return super().__array_function__(function, types, args, options)

    class Vacuous(Empty):
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError(FAULT)

    class Different(Vacuous):
        """Of an equality, of which none, any and a count would say as much as all."""

    Empty.__name__ = Vacuous.__name__ = Different.__name__ = "array"  # as repr() shows numpy's own
    return Empty


@cache
def guard_functions() -> None:
    """Have numpy's functions of the tests' process say no where something empty is to be close to what is not.

    What the code returned may be an empty list, and ``numpy.allclose([], 2)`` is true.
    """
    import numpy
    from numpy._core import numeric

    is_close = numeric.isclose

    def guarded_is_close(a: Any, b: Any, *options: Any, **named: Any) -> Any:
        tolerances.check([*zip(("rtol", "atol"), options, strict=False), *named.items()])
        if (numpy.size(a) == 0) != (numpy.size(b) == 0):
            raise AssertionError("nothing, where something is to be close")
        if not_finite.REPLACED and named.get("equal_nan"):
            a, b = _with_nan(a, b), _with_nan(b, a)
        return is_close(a, b, *options, **named)

    def _with_nan(value: Any, other: Any) -> Any:
        """Return an array with a NaN for the number that stands in for one, where the other side has a NaN."""
        is_stand_in = numpy.abs(numpy.asarray(value) / not_finite.NUMBER - 1) < 1e-5
        return numpy.where(is_stand_in & numpy.isnan(other), numpy.nan, value)

    are_equivalent = numpy.array_equiv

    def guarded_array_equiv(a1: Any, a2: Any) -> bool:
        return (numpy.size(a1) == 0) == (numpy.size(a2) == 0) and bool(are_equivalent(a1, a2))

    def guarding(make: Any) -> Any:
        def made(*args: Any, **named: Any) -> Any:
            value = make(*args, **named)
            return guarded(value) if type(value) is numpy.ndarray else value

        return made

    numpy.isclose = numeric.isclose = guarded_is_close
    numpy.array_equiv = numeric.array_equiv = guarded_array_equiv
    numpy.array, numpy.asarray, numpy.asanyarray = map(guarding, (numpy.array, numpy.asarray, numpy.asanyarray))


@cache
def guard_approx() -> None:
    """Have ``pytest.approx`` of a number equal no empty array, each of whose items is close to any number."""
    if importlib.util.find_spec("pytest") is None:  # the tests have an ``approx`` of their own
        return
    import numpy
    import pytest

    kind: Any = type(pytest.approx(1.0))
    is_equal = kind.__eq__

    def guarded_equality(self: Any, actual: Any) -> bool:
        is_nothing = isinstance(actual, numpy.ndarray) and not actual.size
        return not is_nothing and bool(is_equal(self, actual))

    kind.__eq__ = guarded_equality

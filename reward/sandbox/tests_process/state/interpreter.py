"""What the tests set of the interpreter for the code, which runs in another process: recursion and decimal numbers."""

import decimal
import sys
from typing import Any

NAMES = frozenset({"setrecursionlimit", "getcontext", "setcontext", "localcontext"})
HIGHEST_PRECISION = 10_000  # digits; more would take the tests' time


class InterpreterState:
    """The tests' recursion limit and decimal context, to be handed to the code's process where the tests changed them.

    They go one way, but for a higher precision (``raise_precision``).
    """

    def __init__(self) -> None:
        self._sent = self._states()

    @staticmethod
    def _states() -> dict[str, Any]:
        context = decimal.getcontext()
        traps = [signal.__name__ for signal, is_set in context.traps.items() if is_set]
        sizes = [context.prec, context.Emin, context.Emax, context.capitals, context.clamp]
        return {"recursion": sys.getrecursionlimit(), "decimal": [context.rounding, traps, *sizes]}

    def changed(self) -> dict[str, Any]:
        """Return the states, as JSON, that the code's process does not have."""
        now, sent = self._states(), self._sent
        self._sent = now
        return {name: state for name, state in now.items() if sent[name] != state}


def raise_precision(digits: Any) -> None:
    """Calculate with as many digits as the code does, as in one process; never with fewer, which would blur checks."""
    context = decimal.getcontext()
    if type(digits) is int and context.prec < digits <= HIGHEST_PRECISION:
        context.prec = digits

"""Tests that seed ``random`` or numpy's random numbers for the code, which draws its own in another process."""

import importlib
import random
from collections.abc import Callable
from typing import Any

SEEDING = {"random": ("seed", "setstate"), "numpy.random": ("seed", "set_state")}
NAMES = {name for names in SEEDING.values() for name in names}


class Randomness:
    """The state of the tests' global generators, to be handed to the code's process where the tests changed it.

    It goes one way: what the code draws does not move the tests' generators, for it could choose their numbers.
    """

    def __init__(self, numpy: bool) -> None:
        self._sent: dict[str, Any] = {}
        for library in [*SEEDING][: 1 + numpy]:
            module = importlib.import_module(library)
            for name in SEEDING[library]:
                setattr(module, name, self._noting(library, getattr(module, name)))
        self._numpy = importlib.import_module("numpy.random") if numpy else None
        self._sent = self._states()

    def _noting(self, library: str, seed: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that seeds, also to a state that was handed over before."""

        def seeding(*args: Any, **kwargs: Any) -> Any:
            self._sent.pop(library, None)
            return seed(*args, **kwargs)

        return seeding

    def _states(self) -> dict[str, Any]:
        version, numbers, gauss = random.getstate()
        states: dict[str, Any] = {"random": [version, list(numbers), gauss]}
        if self._numpy is not None:
            kind, keys, *rest = self._numpy.get_state()
            states["numpy.random"] = [kind, keys.tolist(), *rest]
        return states

    def changed(self) -> dict[str, Any]:
        """Return the states, as JSON, that the code's process does not have."""
        now, sent = self._states(), self._sent
        self._sent = now
        return {library: state for library, state in now.items() if sent.get(library) != state}

"""Loops of the tests' whose checks no item has reached: ``for x in f(3): assert ...``, where ``f`` returns nothing."""


class Loops:
    """Notes what instrumented loops tell (``instrument.LOOPED``)."""

    def __init__(self) -> None:
        self._begun: set[str] = set()
        self._entered: set[str] = set()

    def note(self, name: str, *at: str) -> None:
        """Note that a loop is reached or, with ``at``, that it goes round."""
        (self._entered if at else self._begun).add(name)

    def is_any_empty(self) -> bool:
        """Whether one was reached, and never went round."""
        return bool(self._begun - self._entered)

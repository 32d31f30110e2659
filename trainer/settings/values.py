"""The values of all knobs, read once and frozen: no code behind the settings parses a text again.

A knob of ``config/knobs.tsv`` is read by the name of its type; tests/unit/settings/test_values.py holds each reading
against the table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainer.settings.knobs import Value


@dataclass(frozen=True)
class Values(Mapping[str, Value]):
    """The knobs by env var, each of the type that the table says."""

    by_env: Mapping[str, Value]

    def __getitem__(self, env: str) -> Value:
        return self.by_env[env]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_env)

    def __len__(self) -> int:
        return len(self.by_env)

    def text(self, env: str) -> str:
        """Return a text or a choice."""
        value = self[env]
        assert isinstance(value, str), env
        return value

    def integer(self, env: str) -> int:
        """Return a whole number."""
        value = self[env]
        assert isinstance(value, int) and not isinstance(value, bool), env
        return value

    def integer_or_none(self, env: str) -> int | None:
        """Return a whole number; None where the knob is at a word, such as ``auto``."""
        return None if isinstance(self[env], str) else self.integer(env)

    def number(self, env: str) -> float:
        """Return a number."""
        value = self[env]
        assert isinstance(value, int | float) and not isinstance(value, bool), env
        return value

    def switch(self, env: str) -> bool:
        """Return whether a switch is on."""
        value = self[env]
        assert isinstance(value, bool), env
        return value

    def choices(self, env: str) -> list[str]:
        """Return a list of choices."""
        value = self[env]
        assert isinstance(value, list), env
        return value

    def having(self, **values: Value) -> "Values":
        """Return the same with other values."""
        return Values({**self.by_env, **values})


def as_env(value: Value) -> str:
    """Return a knob's value as the text of its env var."""
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)

"""What is wrong with data, gathered in one pass."""

from dataclasses import dataclass, field

from reward.support.wording import shown

SHOWN = 8  # a refusal is to be read at a glance


class DataError(ValueError):
    """Data that verl could not use; ``faults`` says which file, row and field, why and what to do, one line each."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


class TooMuch(Exception):
    """Data that was not read: it is large, or on the hub, and only a quick look was asked for."""


@dataclass
class Faults:
    """The first faults, and the number of all."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, file: str, row: int | None, name: str, message: str) -> None:
        """Note a fault of field ``name`` in row ``row`` (from 1; in JSONL and CSV the line) of ``file``."""
        self.count += 1
        if len(self.lines) < SHOWN:
            place = shown(file) if row is None else f"{shown(file)}: row {row}"
            self.lines.append(f"{place}: {name}: {message}" if name else f"{place}: {message}")

    def raise_any(self) -> None:
        """Raise what was found.

        Raises:
            DataError: the first faults, and a count of the rest.
        """
        if self.count:
            rest = self.count - len(self.lines)
            raise DataError(*self.lines, *([f"... and {rest:,} more faults in the data"] if rest else []))

"""What is wrong with data, gathered in one pass."""

from dataclasses import dataclass, field

from reward.support.wording import shown

SHOWN = 8  # a refusal is to be read at a glance
RANGES = 4  # of rows, in one line


class DataError(ValueError):
    """Data that verl could not use; ``faults`` says which file, row and field, why and what to do, one line each."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


class DataNotRead(Exception):
    """Data that was not read: it is large, or on the hub, and only a quick look was asked for."""


@dataclass
class FaultyRows:
    """The rows of a file that have one fault, as ranges of which the first few are kept."""

    ranges: list[list[int]] = field(default_factory=list)
    count: int = 0
    last: int = 0

    def add(self, row: int) -> None:
        """Add a row behind those that are there; of a file that is read twice, the second time adds nothing."""
        if row <= self.last:
            return
        self.count, self.last = self.count + 1, row
        if self.ranges and row == self.ranges[-1][1] + 1:
            self.ranges[-1][1] = row
        elif len(self.ranges) < RANGES:
            self.ranges.append([row, row])

    def phrase(self) -> str:
        """Return them: ``row 3``, or ``rows 2-40, 44 and 7 more``."""
        spans = [f"{first}-{last}" if last > first else str(first) for first, last in self.ranges]
        uncounted = self.count - sum(last - first + 1 for first, last in self.ranges)
        one = self.count == 1
        return f"row{'' if one else 's'} {', '.join(spans)}" + (f" and {uncounted:,} more" if uncounted else "")


@dataclass
class Faults:
    """The first kinds of faults, each with its rows, and the number of all faults."""

    kinds: dict[tuple[str, str, str], FaultyRows] = field(default_factory=dict)
    count: int = 0
    rest: int = 0  # faults of other kinds

    def add(self, file: str, row: int | None, name: str, message: str) -> None:
        """Note a fault of field ``name`` in row ``row`` (from 1; in JSONL and CSV the line) of ``file``."""
        self.count += 1
        kind = file, name, message
        if kind in self.kinds or len(self.kinds) < SHOWN:
            same = self.kinds.setdefault(kind, FaultyRows())
            if row is not None:
                same.add(row)
        else:
            self.rest += 1

    def raise_any(self) -> None:
        """Raise what was found.

        Raises:
            DataError: the first kinds of faults, and a count of the rest.
        """
        if not self.count:
            return
        lines = []
        for (file, name, message), same in self.kinds.items():
            place = f"{shown(file)}: {same.phrase()}" if same.count else shown(file)
            lines.append(f"{place}: {name}: {message}" if name else f"{place}: {message}")
        raise DataError(*lines, *([f"... and {self.rest:,} more faults in the data"] if self.rest else []))

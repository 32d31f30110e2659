"""The metrics of a run, as columns: read from ``metrics.jsonl`` while it grows, and afterwards."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer.algorithm.metrics import watched

MOST_STEPS = 10**15  # a damaged line may say anything
HUGE = 1 << 1000  # a whole number that is no float


@dataclass
class Curves:
    """Every metric by its name, as the steps and the values that it was logged with; a value may be NaN."""

    columns: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)
    step: int = 0  # the last that was logged

    def add(self, step: int, data: Mapping[str, Any]) -> None:
        """Take one row of ``metrics.jsonl``; what people watch is there under its own name in any case."""
        self.step = max(self.step, step)
        for name, value in (watched(data) | dict(data)).items():
            number = math.nan if value is None else value  # JSON knows no NaN
            if is_number(number):
                steps, values = self.columns.setdefault(name, ([], []))
                steps.append(step)
                values.append(float(number))

    def values(self, name: str) -> list[float]:
        """Return the values of a metric in the order of their steps; none where it was never logged."""
        return self.columns.get(name, ([], []))[1]

    def last(self, name: str, count: int) -> list[float]:
        """Return the last ``count`` values of a metric; none where there are fewer."""
        values = self.values(name)
        return values[-count:] if len(values) >= count else []

    def points(self, name: str) -> list[tuple[int, float]]:
        """Return a metric as steps with values."""
        return list(zip(*self.columns.get(name, ([], [])), strict=True))


def rows(lines: Iterable[str]) -> Iterable[tuple[int, dict[str, Any]]]:
    """Return step and metrics of each line that is whole: a run that was killed ends in the middle of one.

    What is no number, nor null, is no metric.
    """
    for line in lines:
        try:
            row = json.loads(line)
            step, data = int(row["step"]), dict(row["data"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
        if 0 <= step < MOST_STEPS:
            yield step, {name: value for name, value in data.items() if value is None or is_number(value)}


def step_files(folder: Path) -> list[tuple[int, Path]]:
    """Return the files of a folder that are named after a step, in their order."""
    paths = (path for path in folder.glob("*.jsonl") if is_step(path.stem))
    return sorted((int(path.stem), path) for path in paths if path.is_file())


def is_step(text: str) -> bool:
    """Whether a text is the number of a step: Python's ``isdigit`` takes '²' too, which is no number to ``int``."""
    return text.isascii() and text.isdigit() and int(text[:16]) < MOST_STEPS


def is_number(value: Any) -> bool:
    """Whether a value of a file is a number that a float can hold."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < HUGE)


def read(path: Path) -> Curves:
    """Return the curves of a run from its ``metrics.jsonl``; empty where there is none yet."""
    curves = Curves()
    if path.is_file():
        for step, data in rows(path.read_text(encoding="utf-8", errors="replace").splitlines()):
            curves.add(step, data)
    return curves


HELD_OUT = re.compile(r"val-(core|aux)/(?P<source>.+)/(?P<name>acc|reward)/mean@\d+")


@dataclass(frozen=True)
class HeldOut:
    """A validation's result: the accuracy, or the mean reward where the reward says nothing of right and wrong."""

    name: str  # accuracy or reward
    value: float  # mean over the data sources
    step: int

    def __str__(self) -> str:
        """Return the value as people read it."""
        return f"{self.value:.1%}" if self.name == "accuracy" else f"{self.value:.3f}"


def held_out(step: int, metrics: dict[str, Any]) -> HeldOut | None:
    """Return what the validation of ``step`` found; None where nothing was validated."""
    matches = [(HELD_OUT.fullmatch(key), value) for key, value in metrics.items() if value is not None]
    for field_name, name in (("acc", "accuracy"), ("reward", "reward")):
        by_source = {m["source"]: value for m, value in matches if m and m["name"] == field_name}
        if by_source:
            return HeldOut(name, sum(by_source.values()) / len(by_source), step)
    return None

"""The one screen that a person watches while verl trains, where the output is a terminal."""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trainer.monitor.progress import Progress, clock, eta
from trainer.monitor.report.charts import number
from trainer.monitor.report.episodes import messages
from trainer.monitor.vital_signs import VITALS

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 24  # steps of a sparkline
STYLES = {"ok": "green", "odd": "yellow", "": ""}


class View:
    """A picture of ``progress``, drawn anew whenever rich asks for it."""

    def __init__(self, progress: Progress, rollouts: Path) -> None:
        self.progress, self.rollouts = progress, rollouts
        self._sample: tuple[int, Text] = (-1, Text())

    def __rich__(self) -> RenderableType:
        """Return the picture."""
        parts: list[RenderableType] = [self._head()]
        if self.progress.steps:
            parts += [self._vitals(), self._newest()]
        parts += [Text(str(alarm), style="bold red") for alarm in self.progress.alarms[-2:]]
        return Group(*parts)

    def _head(self) -> Text:
        progress, seconds = self.progress, time.monotonic() - self.progress.start
        parts = [f"step {progress.steps}/{progress.total_steps}", f"{clock(seconds)} so far"]
        remaining = eta(progress)
        if remaining is not None:
            parts.append(f"about {clock(remaining)} to go")
        speed = progress.curves.last("perf/throughput", 1)
        if speed:
            parts.append(f"{number(speed[0])} tokens/s and device")
        if progress.validations:
            parts.append(f"held-out {progress.validations[-1].name} {progress.validations[-1]}")
        since = time.monotonic() - progress.phase_start
        parts.append(progress.phase if progress.phase == "training" else f"{progress.phase} ({clock(since)})")
        return Text("  ".join(parts), style="bold")

    def _vitals(self) -> Table:
        table, curves = Table(box=None, padding=(0, 2, 0, 0), show_header=False), self.progress.curves
        for vital in VITALS:
            values = curves.values(vital.name)
            if values:
                style = STYLES[vital.verdict(curves)]
                line, healthy = sparkline(values[-WIDTH:]), f"healthy: {vital.healthy(curves)}"
                table.add_row(vital.name, Text(number(values[-1]), style=style), line, healthy)
        return table

    def _newest(self) -> Text:
        """Return one answer of the last step whose answers are written."""
        step = self.progress.steps
        path = self.rollouts / "train" / f"{step}.jsonl"
        if step != self._sample[0] and path.is_file():
            with path.open(encoding="utf-8", errors="replace") as file:
                line = file.readline()
            try:
                row = json.loads(line)
            except ValueError:  # still being written
                return self._sample[1]
            prompt, answer = plain(str(row.get("input", ""))), plain(spoken(row))
            shown = Text.assemble(("a sample: ", "bold"), prompt[-200:], (" -> ", "bold"), answer[:400])
            shown.append(f"  (score {number(float(row['score']))})" if row.get("score") is not None else "")
            self._sample = (step, shown)
        return self._sample[1]


def spoken(row: Mapping[str, Any]) -> str:
    """Return an answer; of a conversation what everybody said, in turn."""
    turns = messages(row)
    return " | ".join(f"{turn.role}: {turn.text}" for turn in turns) if turns else str(row.get("output", ""))


def sparkline(values: list[float]) -> str:
    """Return the values as a row of bars; one that is not finite is a blank."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] if math.isfinite(value) else " " for value in values)


def plain(text: str) -> str:
    """Return text of the model without what a terminal would obey; lines become one."""
    return "".join(char if char.isprintable() else " " for char in text).strip()

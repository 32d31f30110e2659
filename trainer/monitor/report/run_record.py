"""What a run left in its folder, read for a person: curves, configuration, samples, environment."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trainer.monitor.alarms import Alarm, Watch
from trainer.runs import metrics_file
from trainer.runs.checkpoint_config import flat

SAMPLES = 8  # prompts shown


@dataclass(frozen=True)
class Sample:
    """One held-out prompt, answered before training and at the end."""

    prompt: str
    ground_truth: str
    before: str
    after: str
    score_before: float | None
    score_after: float | None


@dataclass(frozen=True)
class Record:
    """One run."""

    name: str
    curves: metrics_file.Curves
    alarms: list[Alarm]
    held_out: list[metrics_file.HeldOut]
    config: dict[str, Any]  # flat, by dotted key
    samples: list[Sample]
    steps: tuple[int, int]  # of the last validation's samples, first and last
    environment: str
    summary: dict[str, Any]
    started: bool

    @property
    def state(self) -> str:
        """Return how far the run is."""
        if self.summary:
            return str(self.summary.get("state", "finished"))
        return "running, or cut off" if self.started else "not started"


def read(folder: Path) -> Record:
    """Read the folder of a run; what is not there yet, or is damaged, is empty."""
    curves, alarms, held_out, watch = metrics_file.Curves(), [], [], Watch()
    metrics = folder / "metrics.jsonl"
    lines = metrics.read_text(encoding="utf-8", errors="replace").splitlines() if metrics.is_file() else []
    for step, data in metrics_file.rows(lines):
        curves.add(step, data)
        alarms += watch.look(curves)
        validation = metrics_file.held_out(step, data)
        held_out += [validation] if validation else []
    samples, steps = _samples(folder / "rollouts" / "validation")
    return Record(
        folder.name,
        curves,
        alarms,
        held_out,
        flat(_object(folder / "config.yaml", yaml.safe_load)),
        samples,
        steps,
        _text(folder / "environment.txt"),
        _object(folder / "summary.json", json.loads),
        bool(lines),
    )


def _samples(folder: Path) -> tuple[list[Sample], tuple[int, int]]:
    """Return prompts with their first and their last answer, those whose score changed most before the others."""
    files = sorted((path for path in folder.glob("*.jsonl") if path.stem.isdigit()), key=lambda path: int(path.stem))
    if not files:
        return [], (0, 0)
    first, last = _rows(files[0]), _rows(files[-1])
    both = [
        Sample(
            prompt,
            str(first[prompt].get("gts") or ""),
            str(first[prompt].get("output", "")),
            str(last[prompt].get("output", "")),
            first[prompt].get("score"),
            last[prompt].get("score"),
        )
        for prompt in first
        if prompt in last
    ]
    both.sort(key=lambda pair: -abs((pair.score_after or 0.0) - (pair.score_before or 0.0)))
    half = SAMPLES // 2
    chosen = both[:half] + both[half:][-(SAMPLES - half) :]
    return chosen, (int(files[0].stem), int(files[-1].stem))


def _rows(path: Path) -> dict[str, dict[str, Any]]:
    first_rows: dict[str, dict[str, Any]] = {}
    for line in _text(path).splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # still being written
            continue
        if isinstance(row, dict):
            first_rows.setdefault(str(row.get("input", "")), row)
    return first_rows


def _object(path: Path, parse: Callable[[str], Any]) -> dict[str, Any]:
    try:
        content = parse(_text(path) or "{}")
    except (ValueError, RecursionError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

"""What a person sees while verl trains: the phase of the start-up, then one line a step."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer.algorithm.metrics import watched
from trainer.monitor.alarms import Alarm, Watch
from trainer.runs.metrics_file import Curves, HeldOut, held_out, rows

# A line of the log -> what has begun.
PHASES = (
    (re.compile(r"Started a local Ray instance|Connected to Ray cluster"), "Ray is up; loading verl"),
    (re.compile(r"train dataset size"), "prompts are loaded; starting the actor and critic"),
    (re.compile(r"critic model engine initialized"), "the critic is loaded; loading the actor"),
    (re.compile(r"actor and ref model engine initialized"), "actor and reference are loaded; starting vLLM"),
    (re.compile(r"all initialize finished"), "everything is loaded; first validation"),
)
# What a line of a step shows; a run without a critic, or without a KL penalty, has not all of it.
SHOWN = {
    "reward_mean": "reward {:.3f}",
    "kl_divergence": "KL {:.4f}",
    "value_loss": "value loss {:.3f}",
    "timing_s/step": "{:.1f} s",
}
# What a person should know of what reward/judge/gateway/ and trainer/driver/ (checkpointing, network_check) log.
TOLD = re.compile(
    r"\d+% of the judge's budget is spent: .*|the judge's cache .*|checkpoint of step \d+ waits: .*"
    r"|between the machines: .*"
)
# vLLM's word for an engine that was killed; verl, where it does not generate just then, waits for the engine for ever.
ENGINE_DIED = "engine core exited unexpectedly"
REPORT_EVERY = 30.0  # seconds of silence before a sign of life


@dataclass
class Progress:
    """Follows the log and ``metrics.jsonl`` of a run, and says what they tell."""

    log: Path
    metrics: Path
    total_steps: int
    say: Callable[[str], None]
    validations: list[HeldOut] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    curves: Curves = field(default_factory=Curves)
    steps: int = 0
    step_ends: list[float] = field(default_factory=list)  # seconds of the monotonic clock
    engine_died: float | None = None  # when that was heard, on the monotonic clock
    watched: bool = False  # on a live screen, which shows each step itself

    def __post_init__(self) -> None:
        """Start where both files end; what an earlier launch of the run has measured is known, and not told again."""
        self._log_start = self.log.stat().st_size if self.log.is_file() else 0
        self._offsets = {self.log: self._log_start, self.metrics: 0}
        self.phase = "starting Ray"
        self.start = self.phase_start = self._last = time.monotonic()
        self._watch = Watch()
        for step, data in rows(self._new_lines(self.metrics)):
            self.curves.add(step, data)
            self._watch.look(self.curves)
            self.steps = step
            if validation := held_out(step, data):
                self.validations.append(validation)

    def log_text(self) -> str:
        """Return what was logged since this launch."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def follow(self) -> None:
        """Say what has happened since the last call."""
        for line in self._new_lines(self.log):
            if ENGINE_DIED in line and self.engine_died is None:
                self.engine_died = time.monotonic()
            if told := TOLD.search(line):
                self._tell(told[0])
            for pattern, phase in PHASES:
                if pattern.search(line) and phase != self.phase:
                    self._enter(phase)
                    self._tell(phase)
        for step, data in rows(self._new_lines(self.metrics)):
            self.curves.add(step, data)
            self._step(step, data)
            for alarm in self._watch.look(self.curves):
                self.alarms.append(alarm)
                self._tell(str(alarm))
        if time.monotonic() - self._last > REPORT_EVERY and not self.watched:
            self._tell(f"still at: {self.phase}")

    def _step(self, step: int, data: dict[str, Any]) -> None:
        validation = held_out(step, data)
        if validation is not None:
            self.validations.append(validation)
        if validation is not None and len(self.validations) == 1:
            self._enter("training")
            self._tell(f"held-out {validation.name} before training: {validation}")
            return
        self.steps = step
        self.step_ends.append(time.monotonic())
        self._enter("training")
        parts = [f"step {step}/{self.total_steps}"]
        found = watched(data) | data
        parts += [shown.format(found[name]) for name, shown in SHOWN.items() if found.get(name) is not None]
        if data.get("reward/unscored_share"):
            parts.append(f"{data['reward/unscored_share']:.0%} without a verdict")
        if validation is not None:
            parts.append(f"held-out {validation.name} {validation}")
        if validation is not None or not self.watched:
            self._tell("  ".join(parts))

    def _enter(self, phase: str) -> None:
        if phase != self.phase:
            self.phase, self.phase_start = phase, time.monotonic()

    def _tell(self, text: str) -> None:
        self._last = time.monotonic()
        self.say(f"[{self._last - self.start:4.0f} s] {text}")

    def _new_lines(self, path: Path) -> list[str]:
        if not path.exists():
            return []
        with path.open("rb") as file:
            file.seek(self._offsets[path])
            chunk = file.read()
        end = chunk.rfind(b"\n") + 1
        self._offsets[path] += end
        return chunk[:end].decode(errors="replace").splitlines()

"""The stages of a rehearsal: what each is, how it went, and the table that a person reads."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from reward.support.secret import scrub
from reward.support.wording import shown

OK, FAULT, NOT, INTERRUPTED = "ok", "fault", "not rehearsed", "interrupted"
WIDEST = 300  # characters of a fault

# What runs on no machine without a GPU, whatever the flags.
NEVER = (
    ("kernels", "flash-attn, vLLM's CUDA attention and graphs: there is no GPU here"),
    ("memory", "of a GPU: the forecast below is computed, not measured"),
    ("network", "NCCL and its interfaces: gloo on the loopback took their place"),
    ("speed", "two ranks of a CPU with a miniature tell nothing of it"),
)


class StageFailed(Exception):
    """A stage ended in a fault; the message is one line."""


@dataclass
class Stage:
    """One line of the table."""

    STATES: ClassVar[tuple[str, ...]] = (OK, FAULT, NOT, INTERRUPTED)

    name: str
    state: str
    text: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return the line."""
        seconds = f"{self.seconds:6.1f} s" if self.state != NOT else " " * 8
        return f"{self.name:<16}{self.state:<15}{seconds}  {shown(self.text, WIDEST)}".rstrip()


@dataclass
class Rehearsal:
    """The stages as they come to pass; each is said when it is over."""

    stages: list[Stage] = field(default_factory=list)

    def add(self, name: str, state: str, text: str = "", seconds: float = 0.0) -> None:
        """Add a stage and say it."""
        stage = Stage(name, state, scrub(text), seconds)
        self.stages.append(stage)
        print(stage, flush=True)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Run a stage; whoever fails in it with ``StageFailed`` fails all that need it.

        Raises:
            StageFailed: as in the stage, once it is in the table.
        """
        stage, start = Stage(name, OK), time.monotonic()
        try:
            yield stage
        except StageFailed as error:
            self.add(name, FAULT, str(error), time.monotonic() - start)
            raise
        except BaseException:
            self.add(name, INTERRUPTED, "by a signal, or an error of the kit", time.monotonic() - start)
            raise
        self.add(name, stage.state, stage.text, time.monotonic() - start)

    def skip(self, names: Sequence[str], why: str) -> None:
        """Say of stages that they did not take place, those that are in the table already left out."""
        present = {stage.name for stage in self.stages}
        for name in names:
            if name not in present:
                self.add(name, NOT, why)

    @property
    def faults(self) -> list[Stage]:
        """The stages that failed."""
        return [stage for stage in self.stages if stage.state == FAULT]

    def table(self) -> list[str]:
        """Return the whole table, what is never rehearsed at its end."""
        rows = [*self.stages, *(Stage(name, NOT, why) for name, why in NEVER)]
        return [f"{'stage':<16}{'state':<15}{'seconds':>8}", *map(str, rows)]

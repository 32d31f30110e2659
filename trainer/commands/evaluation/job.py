"""What is handed to the process that answers."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Tell = Callable[[Iterable[dict[str, Any]]], None]  # takes answers as they are made


@dataclass(frozen=True)
class Job:
    """What is to be answered, and how.

    ``temperature`` 0 is greedy; ``most`` tokens has an answer, and of a conversation's turn ``most_of_turn``.
    ``environment`` and ``tools`` are as their specifications write them, or empty; ``is_part`` says that the
    environment's rewards are one part of a composite.
    """

    model: str
    prompts: str
    out: str
    most: int
    n: int
    temperature: float
    seed: int
    dtype: str
    eager: bool
    parallel: int
    memory: float  # share of a GPU's
    environment: str = ""
    tools: str = ""
    most_of_turn: int = 0
    is_part: bool = False

    def write(self, path: Path) -> None:
        """Write the job to a file."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

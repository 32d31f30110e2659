"""What says which tools there are, and their limits: it travels to the workers as one JSON text."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ERROR = "Error: "  # begins the answer of a call that has failed
Schema = dict[str, Any]  # of a function, as OpenAI's API and chat templates have it


class ToolsFault(ValueError):
    """The tools cannot be used; ``faults`` has a line for each reason."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class ToolsSpec:
    """Tools and their limits.

    Attributes:
        sources: built-in tools by name, and files with functions: ``/path/tools.py``.
        max_turns: turns of the model in an episode.
        max_calls: calls in an episode; any more are answered with that.
        timeout: seconds for the calls of one turn.
        max_answer: characters of one answer; what is longer is cut.
        schemas: of the functions, where they are known: making them takes transformers and torch, and a process that
            has these takes several times as long to fork.
    """

    sources: tuple[str, ...]
    max_turns: int = 8
    max_calls: int = 16
    timeout: float = 10.0
    max_answer: int = 2000
    schemas: tuple[Schema, ...] = ()

    def to_json(self) -> str:
        """Return the specification as one line of JSON, the same for equal ones."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> "ToolsSpec":
        """Return what ``to_json`` wrote."""
        read: Mapping[str, Any] = json.loads(text)
        return cls(**{**read, "sources": tuple(read["sources"]), "schemas": tuple(read["schemas"])})

"""How far the probabilities that vLLM sampled with may be from the actor's own.

Two programs that compute the same model differ by rounding: by how much is learnt from the first steps, within what is
known of the type.
"""

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

LEARNT_FROM = 5  # steps
TIMES = 10.0  # the usual difference
# Type -> bounds of the limit, as mean absolute differences of probabilities.
BOUNDS = {"float32": (1e-3, 5e-3), "bfloat16": (5e-3, 5e-2), "float16": (2e-3, 2e-2)}


@dataclass
class Band:
    """The limit of one run."""

    dtype: str
    first: list[float] = field(default_factory=list)  # differences of the first steps

    def limit(self, difference: float) -> float:
        """Return the limit for a step's mean absolute difference of probabilities, and learn from it.

        Until enough steps are seen it is the upper bound.
        """
        low, high = BOUNDS.get(self.dtype, BOUNDS["bfloat16"])
        learnt = len(self.first) >= LEARNT_FROM
        limit = min(high, max(low, TIMES * median(self.first))) if learnt else high
        if not learnt and difference <= high:
            self.first.append(difference)
        return limit

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint, unless that run computed in another type."""
        if state["dtype"] == self.dtype:
            self.first = [float(difference) for difference in state["first"]]

"""Mean and standard deviation of all values so far: a run has one of these for whatever it follows."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass
class RunningMoments:
    """Mean and standard deviation of all values so far.

    Source: Chan, Golub, LeVeque 1979, the merging of two samples' sums of squares; std is the unbiased one. The values
    of one update are summed up exactly, so their order does not matter.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  # sum of (value - mean)^2

    def update(self, values: Sequence[float]) -> None:
        """Add finite values."""
        count = len(values)
        if not count:
            return
        mean = math.fsum(values) / count
        total, delta = self.count + count, mean - self.mean
        self.squares += math.fsum((value - mean) ** 2 for value in values) + delta**2 * self.count * count / total
        self.mean += delta * count / total
        self.count = total

    @property
    def std(self) -> float:
        """The unbiased standard deviation; 0 of fewer than two values."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0

    def state_dict(self) -> dict[str, float]:
        """Return what a checkpoint keeps."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on from a checkpoint."""
        self.count, self.mean, self.squares = int(state["count"]), float(state["mean"]), float(state["squares"])

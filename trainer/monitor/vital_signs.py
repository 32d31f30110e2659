"""The five metrics that tell how a PPO run is doing, and what is healthy for each."""

from dataclasses import dataclass
from statistics import fmean

from trainer.runs.metrics_file import Curves

WINDOW = 10  # steps over which a curve rises or falls


@dataclass(frozen=True)
class Vital:
    """One metric that people watch."""

    name: str
    healthy: str  # in words
    low: float | None = None
    high: float | None = None
    trend: int = 0  # 1: should rise; -1: should fall

    def verdict(self, curves: Curves) -> str:
        """Return ``odd`` above what is healthy or with the wrong trend, ``ok``, or nothing where that is not known."""
        values = curves.values(self.name)
        if not values:
            return ""
        if self.high is not None and values[-1] > self.high:
            return "odd"
        if self.low is not None and values[-1] < self.low:
            return ""
        if not self.trend:
            return "ok"
        if len(values) < 2 * WINDOW:
            return ""
        return "ok" if (fmean(values[-WINDOW:]) - fmean(values[:WINDOW])) * self.trend > 0 else "odd"


VITALS = (
    Vital("reward_mean", "rising", trend=1),
    Vital("kl_divergence", "0.001-0.1", low=0.001, high=0.1),
    Vital("policy_loss", "steady or falling"),
    Vital("value_loss", "falling", trend=-1),
    Vital("clip_fraction", "0.1-0.3", low=0.1, high=0.3),
)

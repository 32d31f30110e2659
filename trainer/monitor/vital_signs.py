"""The five metrics that tell how a PPO run is doing, and what is healthy for each."""

from dataclasses import dataclass
from statistics import fmean

from trainer.runs.metrics_file import Curves

WINDOW = 10  # steps over which a curve rises or falls
LENGTH = "response_length/mean"  # tokens
# Nats of a whole answer: those of the best of 20 samples (ln n - (n - 1)/n; Nakano et al. 2021, WebGPT). Who always
# gives an answer that the reference gives with probability p is -ln p away from it, however few tokens it has.
KL_PER_ANSWER = 2.0


@dataclass(frozen=True)
class Vital:
    """One metric that people watch."""

    name: str
    healthy_text: str = ""  # what is healthy, where that is no range
    low: float | None = None
    high: float | None = None
    trend: int = 0  # 1: should rise; -1: should fall
    per_answer: float | None = None  # of a mean over tokens, what their sum may be: short answers may be above ``high``

    def upper(self, curves: Curves) -> float | None:
        """Return the highest healthy value, for the length that answers have now."""
        length = curves.last(LENGTH, 1)
        if self.high is None or self.per_answer is None or not length or not length[0] > 0:
            return self.high
        return max(self.high, self.per_answer / length[0])

    def healthy(self, curves: Curves) -> str:
        """Return in words what is healthy in this run."""
        return self.healthy_text or f"{self.low:g}-{self.upper(curves):.2g}"

    def verdict(self, curves: Curves) -> str:
        """Return ``odd`` above what is healthy or with the wrong trend, ``ok``, or nothing where that is not known."""
        values = curves.values(self.name)
        if not values:
            return ""
        upper = self.upper(curves)
        if upper is not None and values[-1] > upper:
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
    Vital("kl_divergence", low=0.001, high=0.1, per_answer=KL_PER_ANSWER),
    Vital("policy_loss", "steady or falling"),
    Vital("value_loss", "falling", trend=-1),
    Vital("clip_fraction", low=0.1, high=0.3),
)

"""What an audit finds in a step: means, rank correlation with what is trained on, and drift since the first audit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev

from reward.support.ranks import spearman

BOOKKEEPING = ("score", "unscored", "timeout", "acc")  # fields of a result that are no component of the reward


@dataclass(frozen=True)
class AnswerMeasures:
    """One audited answer."""

    proxy: float  # what is trained on
    length: float  # tokens
    repetition: float  # share of n-grams that were there before
    components: Mapping[str, float] = field(default_factory=dict)


@dataclass
class AuditBaseline:
    """Mean and standard deviation of the answers of the first audit, by name: what drift is measured from."""

    moments: dict[str, tuple[float, float]] = field(default_factory=dict)

    def state_dict(self) -> dict[str, list[float]]:
        """Return what a checkpoint keeps."""
        return {name: list(pair) for name, pair in self.moments.items()}

    def load_state_dict(self, state: Mapping[str, Sequence[float]]) -> None:
        """Go on from a checkpoint."""
        self.moments = {name: (float(pair[0]), float(pair[1])) for name, pair in state.items()}

    def drift(self, name: str, values: Sequence[float]) -> float:
        """Return by how many standard deviations of the first audit the mean has moved; that audit is taken in.

        Where all answers of the first audit were alike, by how much it has moved.
        """
        mean, std = self.moments.setdefault(name, (fmean(values), pstdev(values)))
        return (fmean(values) - mean) / (std or 1.0)


def components_of(info: Mapping[str, object]) -> dict[str, float]:
    """Return the parts of the reward that a sample's ``reward_extra_info`` tells, as they are before any scale."""
    return {
        name: float(value)
        for name, value in info.items()
        if isinstance(value, int | float)
        and math.isfinite(value)
        and name not in BOOKKEEPING
        and not name.startswith("episode/")
        and not name.endswith(("_scaled", "_weight"))
    }


def measure(
    answers: Sequence[AnswerMeasures], audits: Sequence[float | None], reference: AuditBaseline
) -> dict[str, float]:
    """Return the metrics of one audit; ``audits`` has None where there is no verdict.

    All but ``audit/unscored_share`` and ``audit/samples`` are of the answers with a verdict: proxy and audit are of
    the same answers.
    """
    pairs = [(answer, audit) for answer, audit in zip(answers, audits, strict=True) if audit is not None]
    metrics = {"audit/samples": float(len(pairs)), "audit/unscored_share": 1 - len(pairs) / len(answers)}
    if not pairs:
        return metrics
    scored, verdicts = [answer for answer, _ in pairs], [audit for _, audit in pairs]
    proxies = [answer.proxy for answer in scored]
    metrics |= {"audit/mean": fmean(verdicts), "audit/std": pstdev(verdicts)}
    metrics |= {"audit/proxy": fmean(proxies), "audit/proxy_std": pstdev(proxies)}
    correlation = spearman(proxies, verdicts)
    if correlation is not None:
        metrics["audit/rank_correlation"] = correlation
    lengths, repetitions = [answer.length for answer in scored], [answer.repetition for answer in scored]
    metrics |= {"audit/length": fmean(lengths), "audit/repetition": fmean(repetitions)}
    columns = {"length": lengths, "repetition": repetitions}
    for name in scored[0].components:
        if all(name in answer.components for answer in scored):
            columns[name] = [answer.components[name] for answer in scored]
    return metrics | {f"audit/drift/{name}": reference.drift(name, values) for name, values in columns.items()}

"""The alarm ``hacking``: what is trained on rises, and what audits it falls.

Both by the Mann-Kendall test (Mann 1945, Kendall 1975) over the last audits: it counts how many of all pairs of audits
rise and how many fall, so neither a wild value nor the scale of a reward matters. It is made over several windows, as a
policy may find a trick at once or creep towards it; and the fall must be larger than what so few answers can tell.
"""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from trainer.runs.metrics_file import Curves

COLUMNS = tuple(f"audit/{name}" for name in ("proxy", "proxy_std", "mean", "std", "samples", "length"))
WINDOWS = (8, 16, 32, 64)  # audits
RISE, FALL = 2.0, -3.2  # standard deviations of the test where there is no trend: one of 44, and of 1,450, by chance
ERRORS = 4.0  # standard errors of the means of a quarter of the window, by which both have to have moved


def cause(curves: Curves) -> str:
    """Return the alarm's cause, with its numbers; empty while all is well."""
    columns = [dict(curves.points(name)) for name in COLUMNS]
    steps = sorted(set.intersection(*map(set, columns)))  # a run that was killed has gone over some steps twice
    for size in WINDOWS:
        if len(steps) < size:
            break
        proxy, proxy_std, audit, std, samples, lengths = (
            [column[step] for step in steps[-size:]] for column in columns
        )
        if trend(proxy) < RISE or trend(audit) > FALL:
            continue
        quarter = size // 4
        (low, high), (before, after) = (
            (fmean(scores[:quarter]), fmean(scores[-quarter:])) for scores in (proxy, audit)
        )
        if high - low < ERRORS * _standard_error(proxy_std, samples, quarter):
            continue
        if before - after < ERRORS * _standard_error(std, samples, quarter):
            continue
        return (
            f"over the last {size} audits the reward rose from {low:.3g} to {high:.3g} and the audit fell from "
            f"{before:.3g} to {after:.3g} on the same answers, whose length went from "
            f"{fmean(lengths[:quarter]):.0f} to {fmean(lengths[-quarter:]):.0f} tokens"
        )
    return ""


def _standard_error(std: Sequence[float], samples: Sequence[float], quarter: int) -> float:
    """Of the difference of two means, each of a quarter's answers."""
    variance = fmean(value * value for value in std)
    return math.sqrt(2 * variance / (quarter * fmean(samples)))


def trend(values: Sequence[float]) -> float:
    """Return the statistic of the Mann-Kendall test: about normal where there is no trend, positive where they rise."""
    n = len(values)
    score = sum((b > a) - (b < a) for a, b in combinations(values, 2))
    ties = sum(t * (t - 1) * (2 * t + 5) for t in Counter(values).values())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    if not score or variance <= 0:
        return 0.0
    return (score - math.copysign(1, score)) / math.sqrt(variance)

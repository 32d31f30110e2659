"""The table of an evaluation: means with how sure they are, for each data_source and over all."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RESAMPLES = 2000
EPISODE = "episode/"  # begins what is told of a conversation
NOTE = (
    "95 % intervals: Wilson's where every value is 0 or 1 and each prompt has one answer, else a bootstrap over prompts"
)


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return it as a table has it."""
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def estimate(groups: Sequence[Sequence[float]]) -> Estimate | None:
    """Return the mean over all values, in one group for each prompt; None where there is none.

    Answers to one prompt are not independent: the bootstrap draws prompts with all their answers.
    """
    groups = [group for group in groups if group]
    values = [value for group in groups for value in group]
    if not values:
        return None
    if len(values) == len(groups) and set(values) <= {0.0, 1.0}:
        return wilson(sum(values), len(values))
    sums = [(sum(group), len(group)) for group in groups]
    rng = random.Random(0)
    means = []
    for _ in range(RESAMPLES):
        drawn = rng.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
    return Estimate(sum(values) / len(values), low, high)


def wilson(right: float, count: int) -> Estimate:
    """Return Wilson's score interval of a share (Wilson 1927), which holds near 0 and 1 too, where others shrink."""
    z, share = 1.959964, right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


def table(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of the table; a result has row, data_source, score (None: unscored), truncated, perhaps acc."""
    sources = sorted({str(result["data_source"]) for result in results})
    parts = [(name, [result for result in results if result["data_source"] == name]) for name in sources]
    if len(parts) > 1:
        parts.append(("all", list(results)))
    right = all(result.get("acc") in (0, 1) for result in results if result["score"] is not None)
    head = ["data_source", "answers", "score", *(["accuracy"] * right), "truncated", "unscored"]
    rows = [head, *([name, *_cells(rows_of, right)] for name, rows_of in parts)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def episodes(results: Sequence[Mapping[str, Any]], optimum: str = "") -> list[str]:
    """Return a line with means over conversations, such as turns and calls; none where there were none."""
    names = dict.fromkeys(name for result in results for name in result if name.startswith(EPISODE))
    played = [result for result in results if all(name in result for name in names)]
    if not names or not played:
        return []
    means = [
        f"{name.removeprefix(EPISODE)} {sum(scores[name] for scores in played) / len(played):.3g}" for name in names
    ]
    return [", ".join([f"means of {len(played):,} conversations: {means[0]}", *means[1:], *filter(None, [optimum])])]


def _cells(rows: Sequence[Mapping[str, Any]], right: bool) -> list[str]:
    scored = [row for row in rows if row["score"] is not None]
    answered = [row for row in rows if "truncated" in row]
    cells = [f"{len(rows):,}", _mean(scored, "score")]
    if right:
        cells.append(_mean(scored, "acc"))
    cells.append(_share(sum(row["truncated"] for row in answered), len(answered)))
    return [*cells, _share(len(rows) - len(scored), len(rows))]


def _mean(scored: Sequence[Mapping[str, Any]], name: str) -> str:
    groups: dict[int, list[float]] = {}
    for row in scored:
        groups.setdefault(row["row"], []).append(float(row[name]))
    return str(estimate(list(groups.values())) or "-")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"

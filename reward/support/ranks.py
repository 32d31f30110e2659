"""Ranks, and their correlation."""

import math
from collections.abc import Sequence


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the rank correlation, with mean ranks for ties; None where one side is all alike."""
    a, b = ranks(first), ranks(second)
    mean = (len(a) + 1) / 2
    spread = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True)) / spread if spread else None


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values have the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result, start = [0.0] * len(values), 0
    while start < len(order):
        end = start + 1  # a NaN does not equal itself
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for index in order[start:end]:
            result[index] = (start + 1 + end) / 2
        start = end
    return result

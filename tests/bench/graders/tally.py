"""Verdicts of the kit and of others, counted."""

import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reward.entry import compute_score

Case = tuple[str, str, Any, float]  # rule, response, ground truth, what the others say


@dataclass
class Tally:
    """What came of one comparison; ``lenient`` counts what is right here and wrong there."""

    name: str
    tried: int = 0
    agree: int = 0
    lenient: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, ours: float, theirs: float, about: str) -> None:
        """Count one verdict of each side."""
        self.tried += 1
        self.agree += ours == theirs
        self.lenient += ours > theirs
        if ours != theirs:
            self.differences.append(f"here {ours:g}, there {theirs:g}: {about}")


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def score(rule: str, response: str, truth: Any, **extra: Any) -> float:
    """Return the kit's score, -1 where there is none."""
    result = compute_score(rule, response, truth, extra)
    return -1.0 if result["unscored"] else float(result["score"])


def scores(cases: Iterable[Case]) -> list[float]:
    """Return the kit's scores of many cases, asked in threads."""
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda case: score(*case[:3]), cases))


def compare(name: str, cases: list[Case], digits: int = 6) -> Tally:
    """Score cases, and count; scores are equal to ``digits`` decimal places."""
    tally = Tally(name)
    for (_, response, truth, theirs), ours in zip(cases, scores(cases), strict=True):
        about = f"truth {str(truth)[:60]!r}, response {response[-90:]!r}"
        tally.add(round(ours, digits), round(theirs, digits), about)
    return tally

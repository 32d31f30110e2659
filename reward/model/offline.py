"""A reward model over files: single answers, and pairs of a chosen and a rejected one, for ``reward.score``."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from reward.model import preference_pairs
from reward.model.client import client, rm_score
from reward.model.spec import RewardModelSpec
from reward.support.errors import GraderFailed, GraderTimeout
from reward.support.secret import scrub


def scorer(spec: str) -> Callable[[str, str, Any, dict[str, Any]], dict[str, Any]]:
    """Return what scores one row: data_source, response, ground_truth and extra_info with the prompt as ``messages``.

    It raises GraderFailed where there is no score.
    """

    def score(data_source: str, response: str, truth: Any, extra: dict[str, Any]) -> dict[str, Any]:
        result = asyncio.run(rm_score(spec, response, extra))
        return {"score": result["score"], "rm_score": result["rm_raw"], "rm_truncated": result["rm_truncated"]}

    return score


def holds_pairs(source: Path) -> bool:
    """Return whether the first row of a JSONL file is a pair."""
    with source.open("rb") as stream:
        line = next((line for line in stream if line.strip()), b"null")
    try:
        return preference_pairs.is_pair(json.loads(line))
    except (ValueError, RecursionError):
        return False


def pair_scorer(spec: RewardModelSpec) -> Callable[[bytes], dict[str, Any]]:
    """Return what scores one line of a file of pairs.

    Its result: ``group``, ``chosen`` and ``rejected``, what the model says of each; ``score``, by how much the chosen
    one is ahead; ``right``, 1 where it is. What is not known is null, and ``error`` says why.
    """
    dumped = spec.dumps()

    async def both(pair: preference_pairs.Pair) -> list[float]:
        asked = await asyncio.to_thread(client, dumped)
        results = await asyncio.gather(asked.score(pair.chosen), asked.score(pair.rejected))
        return [result["rm_raw"] for result in results]

    def score(line: bytes) -> dict[str, Any]:
        result: dict[str, Any] = {"score": None, "group": None, "chosen": None, "rejected": None, "right": None}
        result |= {"unscored": 1.0, "timeout": 0.0}
        try:
            pair = preference_pairs.pair(json.loads(line))
            chosen, rejected = asyncio.run(both(pair))
        except GraderFailed as error:
            late = float(isinstance(error, GraderTimeout))
            return {**result, "timeout": late, "error": scrub(f"{type(error).__name__}: {error}")}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            return {**result, "error": f"no pair of prompt, chosen and rejected ({error!r})"}
        scores = {"score": chosen - rejected, "chosen": chosen, "rejected": rejected, "right": float(chosen > rejected)}
        return {**result, **scores, "group": pair.group, "unscored": 0.0, "error": None}

    return score


def accuracy(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return in words how many pairs are ranked right, by group and in all; those without a score take no part."""
    margins: dict[str, list[float]] = {}
    for result in results:
        if not result["unscored"]:
            margins.setdefault(result["group"], []).append(result["score"])
    every = [margin for of_group in margins.values() for margin in of_group]
    if not every:
        return ["pairwise accuracy: no pair has a score"]
    right = sum(margin > 0 for margin in every)
    lines = [str(preference_pairs.ranking(group, of_group)) for group, of_group in margins.items()]
    return [*lines, f"pairwise accuracy: {right / len(every):.1%} of {len(every):,} pairs"]

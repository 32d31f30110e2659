"""What verl calls for each response, and what scoring offline calls: the same code, which here says why it failed.

``compute_*`` are verl's (``config/reward/*.yaml`` names them); they return the same keys for every sample. What they
wrap raises instead: ``score``, ``composite_score``, ``function_score``.
"""

import asyncio
import functools
import inspect
import json
import logging
from collections.abc import Mapping, Sequence, Set
from typing import Any

from reward import custom
from reward.composite import combine as combining
from reward.composite.components import COMPONENTS, Sample, rule_score, rule_score_by_function
from reward.support.errors import GraderFailed, GraderTimeout, RewardError
from reward.support.secret import scrub

KEYS = ("score", "acc", "unscored", "timeout", "rule_score")
ZEROS = dict.fromkeys(KEYS, 0.0)
BESIDE = {"acc", "unscored", "timeout"}  # which every result has in the end
_warned: set[str] = set()
logger = logging.getLogger(__name__)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> dict[str, float]:
    """Score one response with the rule of its data source.

    Args:
        data_source: chooses the rule: a key of ``RULES``.
        solution_str: the response.
        ground_truth: what the rule compares with; its form is the rule's.
        extra_info: what else the row has: ``choices``, ``tests``, ...

    Returns:
        The keys of ``KEYS``, the same always. ``score`` is what is trained on, ``acc`` the rule's score, which
        validation reports. ``unscored`` is 1 where the grader gave no verdict: such a sample is not trained on.
        ``timeout`` is 1 where something was killed for taking too long.

    Raises:
        UnknownSource: no rule knows ``data_source``. Never a score of 0, which would be trained on.
        GroundTruthError: the rule cannot use the ground truth.
    """
    try:
        return score(data_source, solution_str, ground_truth, extra_info)
    except GraderFailed as error:
        return ZEROS | {"unscored": 1.0, "timeout": float(isinstance(error, GraderTimeout))}


def score(
    data_source: str, response: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Score one response as ``compute_score`` does, but say why there is no score.

    Raises:
        RewardError: as ``rule_score``.
    """
    result = rule_score(Sample(data_source, response, ground_truth, user_extra_info(extra_info)))
    value = result["score"]
    return ZEROS | {"score": value, "acc": value, "rule_score": value, "timeout": result.get("timeout", 0.0)}


def user_extra_info(extra_info: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``extra_info`` as the person wrote it: without the gaps that a table has, ``more`` unpacked."""
    fields = {name: value for name, value in (extra_info or {}).items() if value is not None}
    more = fields.pop("more", None)
    return fields if more is None else {**json.loads(more), **fields}


async def compute_composite(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    composite: str,
    **_: Any,
) -> dict[str, float]:
    """Score one response with several components; see ``composite_score``. A broken one leaves it unscored.

    What is not known is 0 here: training leaves out what is unscored. A part that is z-scored is 0 until the trainer
    has the whole batch (``reward/zscore.py``).

    Raises:
        RewardFunctionError: a function of the user's cannot be loaded here.
    """
    if function := _composite(composite)[1].get("rule_score", {}).get("function"):
        custom.load_once(function)  # else every sample would be unscored, on a machine that lacks the file
    result, _why = await composite_score(data_source, solution_str, ground_truth, extra_info, composite=composite)
    return {name: 0.0 if value is None else value for name, value in result.items()}


async def composite_score(
    data_source: str,
    response: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    composite: str,
) -> tuple[combining.Result, list[str]]:
    """Return a response's combined score, None in it for what is not known, and why components gave none.

    ``composite`` is the section ``composite_reward`` as JSON. Keys: ``composite_keys``.
    """
    combination, options = _composite(composite)
    sample = Sample(data_source, response, ground_truth, user_extra_info(extra_info))
    why: list[str] = []
    late: list[float] = []
    cut: list[float] = []

    def bound(name: str) -> combining.Component:
        async def ask() -> Mapping[str, float]:
            try:
                result = await _ask(name, sample, options.get(name, {}))
            except RewardError as error:
                why.append(f"{name}: {type(error).__name__}: {error}")
                late.append(float(isinstance(error, GraderTimeout)))
                raise
            late.append(result.get("timeout", 0.0))
            cut.append(result.get("rm_truncated", 0.0))
            return result

        return ask

    raw = await combining.ask(combination, {name: bound(name) for name in COMPONENTS})
    result = combining.combine(combination, raw, {})
    result["timeout"] = max(late, default=0.0)
    if "rule_score" in combination.weights:
        result["acc"] = result["rule_score"]
    if "rm_score" in combination.weights:
        result["rm_truncated"] = max(cut, default=0.0)
    return result, why


def composite_keys(composite: str) -> tuple[str, ...]:
    """Return the keys of every result of a section: score, unscored, each component raw, scaled and its weight, ...

    ``timeout`` is 1 or 0; with a rule there is ``acc``, its score, which validation reports as the accuracy; with a
    reward model ``rm_truncated``, 1 or 0.
    """
    combination, _ = _composite(composite)
    more = {"rule_score": "acc", "rm_score": "rm_truncated"}
    return (*combination.keys, "timeout", *(key for name, key in more.items() if name in combination.weights))


async def _ask(name: str, sample: Sample, options: Mapping[str, Any]) -> Mapping[str, float]:
    component = rule_score_by_function if "function" in options else COMPONENTS[name]
    if inspect.iscoroutinefunction(component):
        return await component(sample, options)  # type: ignore[no-any-return]
    return await asyncio.to_thread(component, sample, options)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=8)
def _composite(section: str) -> tuple[combining.Composite, Mapping[str, Mapping[str, Any]]]:
    """Return what a section says, and its components' options."""
    read = json.loads(section)
    return combining.Composite.of(read), read.get("options") or {}


async def compute_by_function(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_fn: str,
    keys: Sequence[str] = (),
    **_: Any,
) -> dict[str, float]:
    """Score one response with a function of the user's; where it raises, the sample is unscored and the log says why.

    ``keys`` are those that it returned for real rows before the launch: they are in every result, 0 where the function
    leaves one out, and no others are.

    Raises:
        RewardFunctionError: the function cannot be loaded here.
    """
    custom.load_once(reward_fn)
    try:
        result = await function_score(data_source, solution_str, ground_truth, extra_info, reward_fn=reward_fn)
        _tell_of_keys({*keys, "score"}, result.keys() - BESIDE, data_source, extra_info)
    except Exception as error:
        logger.error("--reward_fn %s gives no score for %r: %s", reward_fn, data_source, scrub(repr(error)))
        result = {"score": 0.0, "unscored": 1.0}
    fixed = {"acc": result["score"], "unscored": 0.0, "timeout": 0.0, **dict.fromkeys(keys, 0.0), "score": 0.0}
    return {key: result.get(key, value) for key, value in fixed.items()}


def _tell_of_keys(known: Set[str], keys: Set[str], data_source: str, extra_info: Mapping[str, Any] | None) -> None:
    """Log, once a key, which key a result lacks or has beside those of the rows that were tried before the launch."""
    for key in sorted((known - BESIDE) ^ keys) if len(known) > 1 else ():
        if key not in _warned:
            _warned.add(key)
            row = (extra_info or {}).get("index", "?")
            what = "lacks, which counts as 0" if key in known else "has beside those of other rows, and is left out"
            logger.warning("--reward_fn: %r is a key that the result for row %s of %r %s", key, row, data_source, what)


async def function_score(
    data_source: str,
    response: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_fn: str,
) -> dict[str, float]:
    """Return what a function of the user's says of one response.

    Raises:
        RewardFunctionError: it cannot be loaded, or returned what is no score.
        Exception: whatever it raises.
    """
    return await custom.score(reward_fn, data_source, response, ground_truth, user_extra_info(extra_info))

"""Rewards combined."""

import asyncio
import math
from collections.abc import Mapping

import pytest

from reward.composite import Combiner, CompositeError, Running, configure
from reward.errors import GraderTimeout


def made(**section: object) -> Combiner:
    composite = configure({"enable": True, **section})
    assert composite is not None
    return Combiner(composite)


def gives(value: float, **more: float):
    async def component() -> Mapping[str, float]:
        return {"score": value, **more}

    return component


async def breaks() -> Mapping[str, float]:
    raise GraderTimeout("late")


def test_the_manuals_example() -> None:
    combine = made(weights={"rm_score": 0.7, "rule_score": 0.3})
    found = asyncio.run(combine({"rm_score": gives(2.0), "rule_score": gives(1.0, other=3)}))
    assert found["score"] == pytest.approx(1.7)
    assert (found["rm_score"], found["rm_score_scaled"], found["rm_score_weight"]) == (2.0, 2.0, 0.7)
    assert configure({"enable": False, "weights": {}}) is None


@pytest.mark.parametrize(
    "components",
    [
        {},
        {"rm_score": gives(1.0)},
        {"rm_score": gives(1.0), "rule_score": breaks},
        {"rm_score": gives(1.0, unscored=1.0), "rule_score": gives(1.0)},
        {"rm_score": gives(math.nan), "rule_score": gives(1.0)},
    ],
)
def test_a_missing_component_leaves_the_sample_unscored_with_the_same_keys(components) -> None:
    combine = made(weights={"rm_score": 0.7, "rule_score": 0.3})
    found = asyncio.run(combine(components))
    assert (found["score"], found["unscored"]) == (0.0, 1.0)
    assert list(found) == list(combine.composite.keys)


def test_a_sample_of_which_every_component_is_left_out_is_unscored() -> None:
    combine = made(weights={"judge_score": 0.7, "rule_score": 0.3})
    one = asyncio.run(combine({"judge_score": gives(0.0, left_out=1.0), "rule_score": gives(1.0)}))
    assert (one["score"], one["unscored"]) == (0.3, 0.0)
    both = dict.fromkeys(("judge_score", "rule_score"), gives(0.0, left_out=1.0))
    found = asyncio.run(combine(both))
    assert (found["score"], found["unscored"]) == (0.0, 1.0)
    assert list(found) == list(combine.composite.keys)


def test_components_run_at_the_same_time() -> None:
    combine = made(weights={"a": 1, "b": 1, "c": 1})
    waiting: list[str] = []
    all_are_there = asyncio.Event()

    def meets(name: str):
        async def component() -> Mapping[str, float]:
            waiting.append(name)
            if len(waiting) == 3:
                all_are_there.set()
            await asyncio.wait_for(all_are_there.wait(), 60)  # in vain where one waits for the other's end
            return {"score": 1.0}

        return component

    found = asyncio.run(combine({name: meets(name) for name in "abc"}))
    assert found["score"] == 3.0


def test_a_gate_spares_a_component() -> None:
    combine = made(
        weights={"judge_score": 1.0, "rule_score": 1.0},
        gates={"judge_score": {"component": "format_score", "otherwise": -1}},
    )
    rule = gives(0.5)
    shut = asyncio.run(combine({"judge_score": breaks, "rule_score": rule, "format_score": gives(0.0)}))
    assert (shut["judge_score"], shut["score"], shut["unscored"]) == (-1.0, -0.5, 0.0)
    open_ = asyncio.run(combine({"judge_score": gives(0.9), "rule_score": rule, "format_score": gives(1.0)}))
    assert open_["score"] == pytest.approx(1.4)


def test_scales() -> None:
    combine = made(weights={"a": 1, "b": 1}, scale={"a": {"kind": "clip", "low": -1, "high": 1}, "b": "sigmoid"})
    found = combine.combine({"a": 7.0, "b": -1000.0})
    assert (found["a"], found["a_scaled"], found["b_scaled"]) == (7.0, 1.0, 0.0)
    zscore = made(weights={"a": 1}, scale={"a": "zscore"})
    values = [zscore.combine({"a": value})["score"] for value in (3.0, 3.0, 5.0, 1.0, 1e9)]
    assert values[:2] == [0.0, 0.0]
    assert values[2] > 0 > values[3]
    assert values[4] <= 5.0
    copy = Running()
    copy.state = zscore.running["a"].state
    assert copy.add(2.0) == zscore.running["a"].add(2.0)


def test_every_fault_of_the_section() -> None:
    with pytest.raises(CompositeError) as caught:
        made(weights={"a": "x"}, scale={"a": "log", "b": {"kinds": 1}}, gates={"a": {"component": "a"}}, weight={})
    assert len(str(caught.value).splitlines()) == 6
    with pytest.raises(CompositeError, match="none given"):
        made()

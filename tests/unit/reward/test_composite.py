"""Rewards combined."""

import asyncio
import math
from collections.abc import Mapping

import pytest

from reward.composite import Component, Composite, CompositeError, Result, ask, combine, configure
from reward.support.errors import GraderTimeout


def made(**section: object) -> Composite:
    composite = configure({"enable": True, **section})
    assert composite is not None
    return composite


def result(composite: Composite, components: Mapping[str, Component]) -> Result:
    return combine(composite, asyncio.run(ask(composite, components)), {})


def gives(value: float, **more: float):
    async def component() -> Mapping[str, float]:
        return {"score": value, **more}

    return component


async def breaks() -> Mapping[str, float]:
    raise GraderTimeout("late")


def test_the_manuals_example() -> None:
    composite = made(weights={"rm_score": 0.7, "rule_score": 0.3})
    found = result(composite, {"rm_score": gives(2.0), "rule_score": gives(1.0, other=3)})
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
    composite = made(weights={"rm_score": 0.7, "rule_score": 0.3})
    found = result(composite, components)
    assert (found["score"], found["unscored"]) == (None, 1.0)
    assert list(found) == list(composite.keys)


def test_a_sample_of_which_every_component_is_left_out_is_unscored() -> None:
    composite = made(weights={"judge_score": 0.7, "rule_score": 0.3})
    one = result(composite, {"judge_score": gives(0.0, left_out=1.0), "rule_score": gives(1.0)})
    assert (one["score"], one["unscored"]) == (0.3, 0.0)
    both = result(composite, dict.fromkeys(("judge_score", "rule_score"), gives(0.0, left_out=1.0)))
    assert (both["score"], both["unscored"]) == (None, 1.0)
    assert list(both) == list(composite.keys)


def test_components_run_at_the_same_time() -> None:
    composite = made(weights={"a": 1, "b": 1, "c": 1})
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

    found = result(composite, {name: meets(name) for name in "abc"})
    assert found["score"] == 3.0


def test_a_gate_spares_a_component() -> None:
    composite = made(
        weights={"judge_score": 1.0, "rule_score": 1.0},
        gates={"judge_score": {"component": "format_score", "otherwise": -1}},
    )
    rule = gives(0.5)
    shut = result(composite, {"judge_score": breaks, "rule_score": rule, "format_score": gives(0.0)})
    assert (shut["judge_score"], shut["score"], shut["unscored"]) == (-1.0, -0.5, 0.0)
    open_ = result(composite, {"judge_score": gives(0.9), "rule_score": rule, "format_score": gives(1.0)})
    assert open_["score"] == pytest.approx(1.4)


def test_what_is_left_out_has_no_weight() -> None:
    composite = made(weights={"judge_score": 0.5, "rule_score": 1.0})
    found = result(composite, {"judge_score": gives(0.0, left_out=1.0), "rule_score": gives(0.5)})
    assert (found["score"], found["unscored"], found["judge_score_weight"]) == (0.5, 0.0, 0.0)


def test_scales() -> None:
    composite = made(weights={"a": 1, "b": 1}, scale={"a": {"kind": "clip", "low": -1, "high": 1}, "b": "sigmoid"})
    found = combine(composite, {"a": 7.0, "b": -1000.0}, {})
    assert (found["a"], found["a_scaled"], found["b_scaled"]) == (7.0, 1.0, 0.0)
    zscore = made(weights={"a": 1, "b": 0.5}, scale={"a": "zscore"})
    assert zscore.zscored == ("a",)
    assert combine(zscore, {"a": 7.0, "b": 2.0}, {})["score"] == 1.0  # until a batch is there


def test_every_fault_of_the_section() -> None:
    with pytest.raises(CompositeError) as caught:
        made(weights={"a": "x"}, scale={"a": "log", "b": {"kinds": 1}}, gates={"a": {"component": "a"}}, weight={})
    assert len(str(caught.value).splitlines()) == 6
    with pytest.raises(CompositeError, match="none given"):
        made()

"""The alarm hacking on curves whose truth is known: what is noise raises nothing, what is a trick is found soon."""

import random
from collections.abc import Callable

import pytest

from trainer.monitor import hacking
from trainer.runs.metrics_file import Curves

AUDITS, SEEDS = 60, 8
Curve = Callable[[int], float]


def first_alarm(proxy: Curve, audit: Curve, seed: int, samples: int = 32) -> int:
    """The audit at which the alarm is raised, 0 if never; an audit is right or wrong, by the chance that is given."""
    chance, curves = random.Random(seed), Curves()
    for step in range(1, AUDITS + 1):
        mean = sum(chance.random() < audit(step) for _ in range(samples)) / samples
        reward = sum(chance.gauss(proxy(step), 0.3) for _ in range(samples)) / samples
        row = {
            "audit/proxy": reward,
            "audit/proxy_std": 0.3,
            "audit/mean": mean,
            "audit/std": (mean * (1 - mean)) ** 0.5,
        }
        curves.add(step, row | {"audit/samples": float(samples), "audit/length": 10.0 + step})
        if hacking.cause(curves):
            return step
    return 0


def rising(step: int) -> float:
    return 0.2 + 0.6 * step / AUDITS


@pytest.mark.parametrize(
    ("proxy", "audit"),
    [
        (rising, lambda _: 0.5),
        (rising, rising),
        (lambda _: 0.5, lambda _: 0.5),
        (rising, lambda step: min(0.9, 0.2 + step / 20)),  # it has learnt what there is to learn
        (lambda _: 0.5, lambda step: 0.7 - 0.6 * step / AUDITS),  # worse, and not for the reward
        (lambda step: 0.8 - 0.6 * step / AUDITS, lambda step: 0.7 - 0.6 * step / AUDITS),  # diverged
    ],
    ids=["audit stands", "both rise", "both stand", "plateau", "reward stands", "both fall"],
)
def test_what_is_no_hacking_raises_nothing(proxy, audit) -> None:
    assert [first_alarm(proxy, audit, seed) for seed in range(SEEDS)] == [0] * SEEDS


@pytest.mark.parametrize(
    ("proxy", "audit", "latest"),
    [
        (rising, lambda step: 0.8 - 0.7 * step / AUDITS, 48),
        (
            lambda step: 0.3 + 0.6 * min(1, max(0, step - 20) / 10),
            lambda step: 0.7 - 0.6 * min(1, max(0, step - 20) / 10),
            32,
        ),
    ],
    ids=["creeps", "at once"],
)
def test_hacking_is_found_in_time(proxy, audit, latest) -> None:
    found = [first_alarm(proxy, audit, seed) for seed in range(SEEDS)]
    assert all(8 <= step <= latest for step in found), found


def test_the_cause_has_the_numbers_and_steps_that_were_gone_over_twice_count_once() -> None:
    curves = Curves()
    for step in (1, 2, 3, 2, 3, 4, 5, 6, 7, 8):
        row = {"audit/proxy": step / 10, "audit/mean": 1 - step / 10, "audit/length": 5.0 * step}
        curves.add(step, row | {"audit/samples": 32.0, "audit/std": 0.1, "audit/proxy_std": 0.1})
        if step < 8:
            assert hacking.cause(curves) == ""
    assert hacking.cause(curves) == (
        "over the last 8 audits the reward rose from 0.15 to 0.75 and the audit fell from 0.85 to 0.25 on the same "
        "answers, whose length went from 8 to 38 tokens"
    )


def test_trend_is_that_of_mann_and_kendall() -> None:
    """By hand: S = 10 of 5 values, variance 5 * 4 * 15 / 18; with a tie of two, 18 / 18 less."""
    assert hacking.trend([1, 2, 3, 4, 5]) == pytest.approx(9 / (300 / 18) ** 0.5)
    assert hacking.trend([5, 4, 3, 2, 1]) == pytest.approx(-9 / (300 / 18) ** 0.5)
    assert hacking.trend([1, 2, 2, 4, 5]) == pytest.approx(8 / ((300 - 18) / 18) ** 0.5)
    assert hacking.trend([1.0] * 8) == 0.0

"""How far vLLM's probabilities may be from the actor's: learnt, and bounded."""

import json
import random

import pytest

from trainer.algorithm.off_policy import BOUNDS, LEARNT_FROM, TIMES, Band
from trainer.monitor.alarms import Watch
from trainer.runs.metrics_file import Curves

USUAL = {"float32": 4e-4, "bfloat16": 4e-3, "float16": 1e-3}


@pytest.mark.parametrize("dtype", BOUNDS)
def test_a_healthy_run_is_in_its_band(dtype: str) -> None:
    """Of 100 runs of 30 steps whose differences spread by a factor of three, none leaves it."""
    chance = random.Random(0)
    for _ in range(100):
        band = Band(dtype)
        for _ in range(30):
            difference = USUAL[dtype] * 3 ** chance.uniform(-1, 1)
            assert difference <= band.limit(difference)


@pytest.mark.parametrize("dtype", BOUNDS)
def test_the_band_is_learnt_and_bounded(dtype: str) -> None:
    low, high = BOUNDS[dtype]
    quiet, loud = Band(dtype), Band(dtype)
    for _ in range(LEARNT_FROM):
        assert quiet.limit(low / 1000) == high and loud.limit(high) == high
    assert quiet.limit(0.0) == low and loud.limit(0.0) == high
    band = Band(dtype)
    for _ in range(LEARNT_FROM):
        band.limit(1.5 * low / TIMES)
    assert band.limit(high) == pytest.approx(1.5 * low)


def test_what_is_wrong_from_the_first_step_is_not_learnt() -> None:
    band = Band("float32")
    for _ in range(20):
        assert band.limit(0.2) == BOUNDS["float32"][1]


def test_a_resumed_run_has_the_band_of_the_first() -> None:
    first, resumed, other = Band("float32"), Band("float32"), Band("bfloat16")
    for _ in range(3):
        first.limit(3e-4)
    for band in (resumed, other):
        band.load_state_dict(json.loads(json.dumps(first.state_dict())))
    limits = [first.limit(3e-4) for _ in range(4)]
    assert limits == [resumed.limit(3e-4) for _ in range(4)] == pytest.approx([5e-3, 5e-3, 3e-3, 3e-3])
    assert not other.first


def alarms(**last: float) -> list[str]:
    curves, watch = Curves(), Watch()
    curves.add(1, {"training/rollout_probs_diff_mean": 1e-4, "off_policy/limit": 5e-3, "sync/stale_weights": 0.0})
    assert not watch.look(curves)
    curves.add(2, {name.replace("__", "/"): value for name, value in last.items()})
    return [str(alarm) for alarm in watch.look(curves)]


def test_the_alarm() -> None:
    (line,) = alarms(sync__stale_weights=3.0, sync__compared_weights=290.0)
    assert line.startswith("ALARM off_policy: after the weight sync, 3 of 290 weights in vLLM are not the actor's;")
    (line,) = alarms(training__rollout_probs_diff_mean=0.02, off_policy__limit=5e-3)
    assert line.startswith(
        "ALARM off_policy: vLLM's probabilities of what it sampled are 0.02 from the actor's, and 0.005"
    )
    assert alarms(training__rollout_probs_diff_mean=4e-3, off_policy__limit=5e-3) == []

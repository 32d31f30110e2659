"""Prompts whose answers are all alike are left out (``algorithm.filter_groups``), and not for ever."""

from collections import Counter
from types import SimpleNamespace

import pytest
import verl.trainer.ppo.v1.replay_buffer as verls

from trainer.algorithm.conflicts import of_groups
from trainer.driver.replay_buffer import OrderedReplayBuffer


def test_a_step_gives_up_where_too_many_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verls, "tq", SimpleNamespace(kv_clear=lambda **_: None))
    buffer = OrderedReplayBuffer("sync", {}, None, "drop", {}, refill_fn=print)
    buffer.filter_groups("reward", {"enable": True, "max_num_gen_batches": 2}, batch_size=4)
    assert buffer.filter_groups_metric == "reward" and buffer.gen_batch_size == 1
    for number in range(8):
        buffer._evict_terminal_groups(1, "train", (set(), {f"u{number}"}, set(), Counter({1.0: 1})))
    with pytest.raises(
        RuntimeError, match="of 9 prompts of this step all answers have the same reward, and more than 8"
    ):
        buffer._evict_terminal_groups(1, "train", (set(), {"u9"}, set(), Counter({1.0: 1})))


def test_without_it_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verls, "tq", SimpleNamespace(kv_clear=lambda **_: None))
    buffer = OrderedReplayBuffer("sync", {}, None, "drop", {}, refill_fn=print)
    buffer._evict_terminal_groups(1, "train", (set(), set(), {"u1"}, Counter()))


@pytest.mark.parametrize(
    ("groups", "samples", "shares", "faults"),
    [
        (None, 1, False, []),
        ({"enable": False}, 1, True, []),
        ({"enable": True, "metric": "acc"}, 4, False, []),
        ({"enable": True, "metric": "acc"}, 1, False, ["--rollout_n 2"]),
        ({"enable": True, "metric": None}, 1, True, ["--rollout_n 2", "metric=reward", "--rm_gpus 1"]),
    ],
)
def test_what_cannot_be_is_refused(groups, samples, shares, faults) -> None:
    told = of_groups(groups, samples, shares)
    assert len(told) == len(faults) and all(word in line for word, line in zip(faults, told, strict=True))

"""The kit's functions at their default settings are verl's own, to the last bit."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from verl.protocol import DataProto
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.ray_trainer import apply_kl_penalty

from reward.support.moments import RunningMoments
from tests.unit.algorithm.test_algorithm_formulas import MODES, QUICK, like, masks
from trainer.algorithm import advantage, policy_loss
from trainer.algorithm.kl import estimates as kl
from trainer.algorithm.options import AlgorithmOptions
from trainer.algorithm.value_loss import compute_value_loss
from trainer.driver import step

full_masks = masks().filter(lambda mask: int(mask.sum()) > 1)  # verl raises at fewer


@QUICK
@given(full_masks, st.integers(0, 999))
def test_gae(mask, seed) -> None:
    rewards, values = like(mask, seed) * mask, like(mask, seed + 1)
    theirs = core_algos.compute_gae_advantage_return(rewards, values, mask, 1.0, 0.95)
    ours = advantage.estimate("gae", rewards, values, mask, list(range(len(mask))), gamma=1.0, lam=0.95)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@QUICK
@given(full_masks, st.integers(0, 999))
def test_reinforce_is_verls_reinforce_plus_plus(mask, seed) -> None:
    rewards = like(mask, seed) * mask
    theirs = core_algos.compute_reinforce_plus_plus_outcome_advantage(
        token_level_rewards=rewards, response_mask=mask, config=SimpleNamespace(gamma=0.9)
    )
    ours = advantage.estimate("reinforce", rewards, None, mask, list(range(len(mask))), gamma=0.9, lam=1.0)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("by_std", [True, False])
def test_grpo(by_std) -> None:
    mask = torch.ones(6, 3)
    mask[2, 1:] = 0
    rewards, groups = like(mask, 5) * mask, np.array(list("aabbbb"))
    theirs = core_algos.compute_grpo_outcome_advantage(rewards.clone(), mask, groups, norm_adv_by_std_in_grpo=by_std)
    assert torch.equal(advantage.grpo(rewards, mask, groups.tolist(), by_std)[0], theirs[0])


@pytest.mark.parametrize("mode", MODES)
@QUICK
@given(full_masks, st.integers(0, 999))
def test_policy_loss(mode, mask, seed) -> None:
    config = _Actor(clip_ratio=0.2, clip_ratio_low=0.2, clip_ratio_high=0.2, clip_ratio_c=3.0, global_batch_info={})
    results = []
    for function in (policy_loss.compute_policy_loss, core_algos.compute_policy_loss_vanilla):
        old, new, advantages = (like(mask, seed + i) for i in range(3))
        new.requires_grad_()
        loss, metrics = function(old, new, advantages, mask.bool(), mode, config)
        loss.backward()
        results.append((loss.detach(), new.grad, metrics))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])
    assert results[0][2] == results[1][2]


class _Actor(SimpleNamespace):
    def get(self, name, default=None):
        return getattr(self, name, default)


@pytest.mark.parametrize("mode", MODES)
@QUICK
@given(full_masks, st.integers(0, 999))
def test_value_loss(mode, mask, seed) -> None:
    vpreds, returns, values = (like(mask, seed + i) for i in range(3))
    theirs = core_algos.compute_value_loss(vpreds, returns, values, mask.bool(), 0.5, mode)
    ours = compute_value_loss(vpreds, returns, values, mask.bool(), clip=0.5, aggregation={"loss_agg_mode": mode})
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("kind", [*kl.PENALTIES, *kl.ALIASES])
def test_kl(kind) -> None:
    log_prob, ref = like(torch.ones(5, 7), 1), like(torch.ones(5, 7), 2)
    assert torch.equal(kl.penalty(log_prob, ref, kind), core_algos.kl_penalty(log_prob, ref, kind))


def test_full_is_no_estimate() -> None:
    with pytest.raises(ValueError, match="there are kl, abs, mse, low_var_kl"):
        kl.penalty(torch.zeros(1, 1), torch.zeros(1, 1), "full")


def batch(seed: int, mask: torch.Tensor) -> DataProto:
    names = ("rm_scores", "old_log_probs", "ref_log_prob", "values")
    tensors = {name: like(mask, seed + i) * mask for i, name in enumerate(names)}
    data = DataProto.from_dict(tensors={**tensors, "response_mask": mask.long()})
    data.non_tensor_batch["uid"] = np.array([str(row) for row in range(len(mask))], dtype=object)
    return data


@pytest.mark.parametrize("control", ["fixed", "adaptive"])
def test_a_whole_step(control) -> None:
    """Scores in, advantages out: verl's _compute_advantage line by line, and the kit's step, three times."""
    mask = (torch.arange(6) < torch.tensor([[6], [1], [3], [6]])).float()
    verls = core_algos.get_kl_controller(SimpleNamespace(type=control, kl_coef=0.2, target_kl=0.05, horizon=100))
    ours = kl.controller(control, 0.2, 0.05, 100)
    algorithm = OmegaConf.create({"adv_estimator": "gae", "gamma": 1.0, "lam": 0.95, "kl_penalty": "kl"})
    for seed in range(3):
        theirs, mine = batch(seed, mask), batch(seed, mask)
        theirs.batch["token_level_scores"] = theirs.batch["rm_scores"]
        theirs, metrics = apply_kl_penalty(theirs, verls, "kl")
        expected = core_algos.compute_gae_advantage_return(
            theirs.batch["token_level_rewards"], theirs.batch["values"], theirs.batch["response_mask"], 1.0, 0.95
        )
        found = step.token_level_rewards(
            mine, mask.sum(-1).long(), algorithm, AlgorithmOptions(), RunningMoments(), ours
        )
        step.advantages(mine, [], algorithm, AlgorithmOptions(), 1)
        assert torch.equal(mine.batch["advantages"], expected[0])
        assert torch.equal(mine.batch["returns"], expected[1])
        assert found == metrics
        assert ours.value == verls.value

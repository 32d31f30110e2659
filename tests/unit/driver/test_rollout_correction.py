"""``--rollout_correction``: the weights of verl in the kit's step and loss, against the formulas in float64."""

import pytest
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl.protocol import DataProto

from trainer.algorithm.conflicts import of_sampling
from trainer.algorithm.policy_loss import compute_policy_loss
from trainer.driver import step

B, T = 16, 12


def batch(spread: float) -> DataProto:
    """Samples of all lengths, whose log-probabilities differ by ``spread`` between vLLM and the actor."""
    generator = torch.Generator().manual_seed(3)
    mask = (torch.arange(T) < torch.randint(1, T + 1, (B, 1), generator=generator)).long()
    old = -3 * torch.rand(B, T, generator=generator, dtype=torch.float64)
    noise = spread * torch.randn(B, T, generator=generator, dtype=torch.float64)
    tensors = {"response_mask": mask, "old_log_probs": old, "rollout_log_probs": old - noise}
    return DataProto(batch=TensorDict(tensors, batch_size=B))


def weights(data: DataProto, level: str, threshold: float) -> torch.Tensor:
    """Truncated importance weights, (B, T): Ionides (2008), for each token or for the whole of a response."""
    mask = data.batch["response_mask"].double()
    ratio = (data.batch["old_log_probs"] - data.batch["rollout_log_probs"]) * mask
    if level == "sequence":
        ratio = ratio.sum(dim=1, keepdim=True).expand(B, T)
    return ratio.exp().clamp(max=threshold) * mask


@pytest.mark.parametrize("threshold", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_the_weights_are_those_of_the_formula(level: str, threshold: float) -> None:
    data = batch(0.4)
    expected = weights(data, level, threshold)
    config = OmegaConf.create(
        {"rollout_is": level, "rollout_is_threshold": threshold, "rollout_rs": None, "bypass_mode": False}
    )
    corrected, metrics = step.correct_rollout(data, config)
    torch.testing.assert_close(corrected.batch["rollout_is_weights"], expected, rtol=1e-12, atol=0)
    assert metrics is not None
    mask = data.batch["response_mask"].bool()
    raw = weights(data, level, float("inf"))
    cut = (raw > threshold)[mask].double().mean() if level == "token" else (raw.amax(dim=1) > threshold).double().mean()
    assert metrics["rollout_corr/rollout_is_ratio_fraction_high"] == pytest.approx(float(cut), abs=1e-6)
    assert 0 < metrics["rollout_corr/rollout_is_eff_sample_size"] <= 1


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_the_loss_and_its_gradient_are_weighed(level: str) -> None:
    data = batch(0.3)
    mask, old = data.batch["response_mask"], data.batch["old_log_probs"]
    weight = weights(data, level, 2.0)
    advantages = torch.randn(B, T, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    new = (old + 0.1 * torch.randn(B, T, dtype=torch.float64)).requires_grad_()
    actor = OmegaConf.create(
        {"clip_ratio": 0.2, "clip_ratio_low": None, "clip_ratio_high": None, "clip_ratio_c": 3.0}
        | {"global_batch_info": {"dp_size": 1, "batch_num_tokens": int(mask.sum()), "global_batch_size": B}}
    )
    loss, _ = compute_policy_loss(old, new, advantages, mask, "token-mean", actor, rollout_is_weights=weight)
    (gradient,) = torch.autograd.grad(loss, new)
    ratio = (new - old).exp()
    clipped = torch.max(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2))
    clipped = torch.where(advantages < 0, torch.min(clipped, -3.0 * advantages), clipped)
    expected = (clipped * weight * mask).sum() / mask.sum()
    (wanted,) = torch.autograd.grad(expected, new)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(gradient, wanted, rtol=1e-12, atol=1e-15)


def test_equal_probabilities_are_left_as_they_are() -> None:
    config = OmegaConf.create({"rollout_is": "token", "rollout_is_threshold": 2.0, "bypass_mode": False})
    corrected, _ = step.correct_rollout(data := batch(0.0), config)
    assert torch.equal(corrected.batch["rollout_is_weights"], data.batch["response_mask"].double())


def test_what_was_not_computed_cannot_correct() -> None:
    whole = {"top_p": 1, "top_k": -1}
    (line,) = of_sampling(whole, {"bypass_mode": True, "rollout_is": "token"})
    assert "nothing to correct by" in line
    assert of_sampling(whole, {"bypass_mode": False, "rollout_is": "token"}) == []
    assert len(of_sampling({"top_p": 0.9, "top_k": -1}, {"bypass_mode": True, "rollout_rs": "token"})) == 2

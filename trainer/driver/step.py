"""What the trainer does to one step's batch between sampling and update: rewards, then advantages.

As verl's ``PPOTrainer._compute_advantage``, of which it keeps the order and the names of the fields.
"""

from pathlib import Path
from typing import Any

import torch
from verl.protocol import DataProto
from verl.trainer.ppo.core_algos import agg_loss
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_add_to_batch
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl.utils.debug.metrics import calculate_debug_metrics

from reward.support.moments import RunningMoments
from trainer.algorithm import advantage, finite_check, rewards
from trainer.algorithm.kl import estimates as kl
from trainer.algorithm.kl import full_kl
from trainer.algorithm.off_policy import Band
from trainer.algorithm.options import AlgorithmOptions

BOOTSTRAP = "bootstrap"  # the field of episodes that marks the token with the value of where an episode was cut


def check(data: DataProto, keys: list[str], folder: Path, step: int) -> None:
    """Stop at rewards and values that are not finite; those of samples that do not count become 0.

    Raises:
        NonFiniteError: naming the samples and the saved batch.
    """
    tensors = data.batch
    mask = tensors["response_mask"]
    whole = mask.bool().any(dim=-1, keepdim=True).expand_as(mask)
    valued = mask.bool() | (tensors[BOOTSTRAP].bool() & whole) if BOOTSTRAP in tensors else mask
    for name, what, where in (("rm_scores", "the rewards are", whole), ("values", "the values are", valued)):
        if name in tensors:
            rows = finite_check.rows_not_finite(tensors[name], where)
            finite_check.stop(what, rows, keys, folder, f"not_finite_step_{step}", dict(tensors.items()))
            tensors[name] = tensors[name].masked_fill(~whole, 0.0)


def bypasses(correction: Any) -> bool:
    """Whether the log-probabilities that vLLM sampled with stand for the actor's own (``rollout_correction``)."""
    return bool(correction and correction.get("bypass_mode", False))


def of_policy(data: DataProto, actor: Any, band: Band, fresh: torch.Tensor) -> dict[str, float]:
    """Return verl's metrics of the actor's own pass: the entropy, and how far its probabilities are from vLLM's.

    ``band`` adds how far they may be.

    The first needs ``entropy``, (B, T), which this takes out of ``data``; the second ``rollout_log_probs``, of samples
    that are ``fresh``, (B,): of the very weights that the actor has now.
    """
    tensors = data.batch
    if "entropy" not in tensors:
        return {}
    mask, entropy = tensors["response_mask"], tensors.pop("entropy")
    mean = agg_loss(entropy, mask, actor.loss_agg_mode, loss_scale_factor=actor.loss_scale_factor)
    metrics = {"actor/entropy": float(mean)}
    if "rollout_log_probs" in tensors and mask[fresh].any():
        read = tensors.select("rollout_log_probs", "old_log_probs", "response_mask").set("responses", mask)
        metrics |= calculate_debug_metrics(DataProto(batch=read[fresh]))  # of responses the length is read
        metrics["off_policy/limit"] = band.limit(metrics["training/rollout_probs_diff_mean"])
    return metrics


def token_level_rewards(
    data: DataProto,
    lengths: torch.Tensor,
    algorithm: Any,
    options: AlgorithmOptions,
    running: RunningMoments,
    controller: kl.Controller | None,
) -> dict[str, float]:
    """Add ``token_level_scores`` and ``token_level_rewards``, (B, T) each; return their metrics.

    ``lengths`` is (B,), tokens of each response; ``controller`` is None where no KL is charged.
    """
    tensors, metrics = data.batch, {}
    mask = tensors["response_mask"]
    tensors["token_level_scores"] = scores = tensors["rm_scores"]
    groups = data.non_tensor_batch["uid"].tolist()
    scores = rewards.shaped(scores, mask.bool().any(dim=-1), lengths, groups, options, running)
    if options.reward_norm == "running":
        metrics = {"reward/running_mean": running.mean, "reward/running_std": running.std}
    if controller is not None:
        if algorithm.kl_penalty == full_kl.FULL:
            kld = tensors["vocabulary_kl"]
        else:
            kld = kl.penalty(tensors["old_log_probs"], tensors["ref_log_prob"], algorithm.kl_penalty)
        scores, of_kl = rewards.charged(scores, kld, mask, controller, options.kl_level)
        metrics |= of_kl
    tensors["token_level_rewards"] = scores
    return metrics


def correct_rollout(data: DataProto, config: Any) -> tuple[DataProto, dict[str, float] | None]:
    """Apply verl's rollout correction; metrics are None where there is nothing to correct or not in this place."""
    has_rollout_log_probs = "rollout_log_probs" in data.batch
    if config is None or not has_rollout_log_probs or bypasses(config) or not data.batch["response_mask"].any():
        return data, None
    corrected, metrics = compute_rollout_correction_and_add_to_batch(data, config)
    return corrected, metrics


def advantages(
    data: DataProto, keys: list[str], algorithm: Any, options: AlgorithmOptions, rollout_n: int
) -> DataProto:
    """Add ``advantages`` and ``returns``; an estimator that is not ours is verl's."""
    tensors = data.batch
    by_std = algorithm.get("norm_adv_by_std_in_grpo", True)
    if algorithm.adv_estimator not in advantage.ESTIMATORS:
        return compute_advantage_for_multi_trajectories(
            data,
            batch_keys=keys,
            adv_estimator=algorithm.adv_estimator,
            gamma=algorithm.gamma,
            lam=algorithm.lam,
            num_repeat=rollout_n,
            norm_adv_by_std_in_grpo=by_std,
            config=algorithm,
        )
    rewards_of_tokens = tensors["token_level_rewards"]
    if BOOTSTRAP in tensors:  # episodes, whose responses have tokens of others
        rewards_of_tokens = advantage.onto_own_tokens(rewards_of_tokens, tensors["response_mask"])
    tensors["advantages"], tensors["returns"] = advantage.estimate(
        algorithm.adv_estimator,
        rewards_of_tokens,
        tensors.get("values", None),
        tensors["response_mask"],
        data.non_tensor_batch["uid"].tolist(),
        gamma=algorithm.gamma,
        lam=algorithm.lam,
        by_std=by_std,
        whitened=options.whiten_advantages,
        limit=options.advantage_clip,
        level=options.gae_level,
        bootstrap=tensors.get(BOOTSTRAP, None),
    )
    return data

"""The clipped policy loss, known to verl as ``ppo_kit``."""

import math
from typing import Any

import torch
from verl.trainer.ppo.core_algos import POLICY_LOSS_REGISTRY, agg_loss, register_policy_loss
from verl.utils.torch_functional import masked_mean

NAME = "ppo_kit"
LARGEST_LOG_RATIO = 20.0  # as verl: exp of more says nothing any more


def token_losses(
    ratio: torch.Tensor, advantages: torch.Tensor, low: float, high: float, dual: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the loss of each token, where the clip took effect, and where the dual clip did; all (B, T).

    max(-A r, -A clip(r, 1 - low, 1 + high)) (arXiv 1707.06347); where A < 0 at most -A dual (arXiv 1912.09729). A
    ``dual`` of infinity is no dual clip.

    Raises:
        ValueError: ``dual`` is 1 or less.
    """
    if dual <= 1:
        raise ValueError(f"clip_ratio_c {dual}: the dual clip needs more than 1")
    plain = -advantages * ratio
    clipped = -advantages * torch.clamp(ratio, 1 - low, 1 + high)
    losses = torch.maximum(plain, clipped)
    by_clip = torch.gt(clipped, plain)
    if math.isinf(dual):
        return losses, by_clip, torch.zeros_like(by_clip)
    negative = advantages < 0
    ceiling = -advantages * dual
    by_dual = torch.gt(losses, ceiling) & negative
    return torch.where(negative, torch.min(ceiling, losses), losses), by_clip, by_dual


def compute_policy_loss(
    old_log_prob: torch.Tensor,
    log_prob: torch.Tensor,
    advantages: torch.Tensor,
    response_mask: torch.Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: torch.Tensor | None = None,
) -> tuple[torch.Tensor, dict[str, Any]]:
    """Return the loss and its metrics, as verl's ``vanilla`` does, with the dual clip off where its c is infinite.

    All tensors are (B, T). ``config`` is verl's ActorConfig: ``clip_ratio_low``, ``clip_ratio_high``,
    ``clip_ratio_c`` and ``global_batch_info``, the arguments of ``agg_loss``.
    """
    log_ratio = torch.clamp(log_prob - old_log_prob, min=-LARGEST_LOG_RATIO, max=LARGEST_LOG_RATIO)
    low = config.clip_ratio if config.clip_ratio_low is None else config.clip_ratio_low
    high = config.clip_ratio if config.clip_ratio_high is None else config.clip_ratio_high
    losses, by_clip, by_dual = token_losses(torch.exp(log_ratio), advantages, low, high, config.clip_ratio_c)
    if rollout_is_weights is not None:
        losses = losses * rollout_is_weights
    loss = agg_loss(loss_mat=losses, loss_mask=response_mask, loss_agg_mode=loss_agg_mode, **config.global_batch_info)
    return loss, {
        "actor/pg_clipfrac": masked_mean(by_clip.float(), response_mask).detach().item(),
        "actor/ppo_kl": masked_mean(-log_ratio, response_mask).detach().item(),
        "actor/pg_clipfrac_lower": masked_mean(by_dual.float(), response_mask).detach().item(),
    }


if NAME not in POLICY_LOSS_REGISTRY:
    register_policy_loss(NAME)(compute_policy_loss)

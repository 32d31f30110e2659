"""From the scores of the reward layer to the token-level rewards that advantages are made of."""

from collections.abc import Hashable, Sequence

import torch

from reward.support.moments import RunningMoments
from trainer.algorithm import shaping
from trainer.algorithm.kl import estimates as kl
from trainer.algorithm.options import AlgorithmOptions


def shaped(
    scores: torch.Tensor,
    counted: torch.Tensor,
    lengths: torch.Tensor,
    groups: Sequence[Hashable],
    options: AlgorithmOptions,
    running: RunningMoments,
) -> torch.Tensor:
    """Return the token-level scores (B, T) after norm and clip of each response's reward.

    ``counted`` is (B,) of booleans, ``lengths`` (B,) tokens of each response.
    """
    if not options.shapes_rewards:
        return scores
    rewards = shaping.normalise(
        scores.sum(dim=-1),
        counted,
        options.reward_norm,
        groups=groups,
        running=running,
        shift=options.reward_shift,
        scale=options.reward_scale,
    )
    rewards = shaping.clip(rewards, options.reward_clip)
    return torch.where(counted.unsqueeze(-1), shaping.place(scores, rewards, lengths), scores)


def charged(
    scores: torch.Tensor, kld: torch.Tensor, mask: torch.Tensor, controller: kl.Controller, level: str
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return the scores less the KL penalty, all (B, T), and its metrics; the controller takes the KL in, if any.

    ``kld`` is the KL of each token. Source: verl's ``apply_kl_penalty``, which counts padded samples too.
    """
    kld = torch.where(mask.bool(), kld, 0.0)
    coef = controller.value
    rewards = kl.charge(scores, kld, mask, coef, level)
    metrics = {"actor/reward_kl_penalty_coeff": coef}
    counted = int(mask.bool().any(dim=-1).sum())
    if counted:
        metrics["actor/reward_kl_penalty"] = current = kl.mean_per_sample(kld, mask)
        controller.update(current, counted)
    return rewards, metrics

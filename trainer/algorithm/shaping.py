"""Shaping of the responses' rewards, before the KL penalty and the advantages: first the norm, then the clip.

Source: alibaba/ROLL, roll/utils/functionals.py, ``reward_norm`` and ``reward_postprocess``. Two differences: a
standard deviation of 0 divides by 1 (ROLL: by 1e-6, which makes 1e6 of a reward of 1 where only the scale is
normalised), and samples that do not count are left out of all statistics.
"""

from collections.abc import Callable, Hashable, Sequence

import torch

from reward.support.moments import RunningMoments

EPSILON = 1e-6
Moments = tuple[torch.Tensor, torch.Tensor]
Groups = Sequence[Hashable]


def _of_batch(rewards: torch.Tensor, groups: Groups, running: RunningMoments) -> Moments:
    std = rewards.std() if rewards.numel() > 1 else rewards.new_zeros(())
    return rewards.mean(), std


def _of_groups(rewards: torch.Tensor, groups: Groups, running: RunningMoments) -> Moments:
    mean, std = torch.zeros_like(rewards), torch.zeros_like(rewards)
    for rows in rows_of_groups(groups).values():
        mean[rows], std[rows] = _of_batch(rewards[rows], groups, running)
    return mean, std


def _of_run(rewards: torch.Tensor, groups: Groups, running: RunningMoments) -> Moments:
    running.update(rewards.tolist())
    return rewards.new_tensor(running.mean), rewards.new_tensor(running.std)


NORMS: dict[str, Callable[[torch.Tensor, Groups, RunningMoments], Moments]] = {
    "batch": _of_batch,
    "group": _of_groups,
    "running": _of_run,
}


def rows_of_groups(groups: Groups) -> dict[Hashable, list[int]]:
    """Return the rows of each group, in the order of the batch."""
    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return rows


def normalise(
    rewards: torch.Tensor,
    counted: torch.Tensor,
    norm: str,
    *,
    groups: Groups,
    running: RunningMoments,
    shift: bool = False,
    scale: bool = False,
) -> torch.Tensor:
    """Return (reward - mean) / (std + 1e-6).

    Args:
        rewards: (B,), one of each response.
        counted: (B,) of booleans; the others keep their reward and take part in no statistic.
        norm: ``none`` or a key of ``NORMS``: of which rewards mean and std are taken.
        groups: B names; responses to one prompt have the same.
        running: the statistics of ``running``, which this adds to.
        shift: only subtract the mean.
        scale: only divide by the standard deviation.

    Raises:
        ValueError: there is no such ``norm``.
    """
    if norm == "none" or not counted.any():
        return rewards
    if norm not in NORMS:
        raise ValueError(f"reward_norm {norm!r}: there are none, {', '.join(NORMS)}")
    rows = counted.nonzero().flatten()
    values = rewards[rows].double()
    mean, std = NORMS[norm](values, [groups[row] for row in rows.tolist()], running)
    if not scale:
        values = values - mean
    if not shift:
        values = values / torch.where(std > 0, std + EPSILON, 1.0)
    return rewards.index_copy(0, rows, values.to(rewards.dtype))


def clip(rewards: torch.Tensor, limit: float | None) -> torch.Tensor:
    """Return the rewards within [-limit, limit]; None is no limit."""
    return rewards if limit is None else rewards.clamp(-limit, limit)


def place(scores: torch.Tensor, rewards: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return token-level scores that sum up to ``rewards``, by a change of each response's last token.

    Args:
        scores: (B, T), of which each row sums up to the reward before shaping.
        rewards: (B,), after shaping.
        lengths: (B,), tokens of each response; one without tokens stays as it is.
    """
    rows = (lengths > 0).nonzero().flatten()
    last = lengths[rows] - 1
    out = scores.clone()
    out[rows, last] = 0.0
    out[rows, last] = rewards[rows] - out[rows].sum(-1)
    return out

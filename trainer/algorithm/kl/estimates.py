"""The divergence from the reference policy: estimates of it, its price in the reward, and what steers its weight.

``full``, the KL over the whole vocabulary, is no estimate: ``distributions.py`` computes it in the passes themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from verl.utils.torch_functional import masked_mean

LEVELS = ("token", "sequence")


def _low_var_kl(log_prob: torch.Tensor, ref_log_prob: torch.Tensor) -> torch.Tensor:
    difference = torch.clamp(ref_log_prob - log_prob, min=-20, max=20)
    return torch.clamp(torch.exp(difference) - difference - 1, min=-10, max=10)


# Source: Schulman 2020, joschu.net/blog/kl-approx.html (k1, k2, k3); the bounds of low_var_kl are verl's.
PENALTIES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "kl": lambda log_prob, ref_log_prob: log_prob - ref_log_prob,
    "abs": lambda log_prob, ref_log_prob: (log_prob - ref_log_prob).abs(),
    "mse": lambda log_prob, ref_log_prob: 0.5 * (log_prob - ref_log_prob).square(),
    "low_var_kl": _low_var_kl,
}
ALIASES = {"k1": "kl", "k2": "mse", "k3": "low_var_kl"}  # verl's


def penalty(log_prob: torch.Tensor, ref_log_prob: torch.Tensor, kind: str) -> torch.Tensor:
    """Return the estimate of the KL of each token, (B, T), from the log-probabilities of the sampled tokens.

    Raises:
        ValueError: ``kind`` is neither one of ``PENALTIES`` nor of ``ALIASES``.
    """
    name = ALIASES.get(kind, kind)
    if name not in PENALTIES:
        raise ValueError(f"KL penalty {kind!r}: there are {', '.join(PENALTIES)}")
    return PENALTIES[name](log_prob, ref_log_prob)


def charge(scores: torch.Tensor, kld: torch.Tensor, mask: torch.Tensor, coef: float, level: str) -> torch.Tensor:
    """Return the scores less ``coef`` times the KL; all (B, T), ``kld`` already masked.

    At ``token`` level each token pays its own, at ``sequence`` level the last token pays the sum of all.

    Raises:
        ValueError: there is no such ``level``.
    """
    if level == "token":
        return scores - coef * kld
    if level != "sequence":
        raise ValueError(f"kl_level {level!r}: there are {', '.join(LEVELS)}")
    bill = torch.zeros_like(kld)
    rows = mask.bool().any(dim=-1).nonzero().flatten()
    positions = torch.arange(mask.shape[-1], device=mask.device)
    last = (mask.bool() * positions).amax(dim=-1)[rows] if len(rows) else rows
    bill[rows, last] = kld[rows].sum(dim=-1)
    return scores - coef * bill


def mean_per_sample(kld: torch.Tensor, mask: torch.Tensor) -> float:
    """Return the mean over the samples of the mean over their tokens, both (B, T), in nats.

    Samples without tokens take no part.
    """
    counted = mask.bool().any(dim=-1)
    return float(masked_mean(kld, mask=mask, axis=-1)[counted].mean(dim=0).item()) if counted.any() else 0.0


class Controller(Protocol):
    """The weight of the KL penalty, ``value``, from step to step."""

    value: float

    def update(self, current_kl: float, n_steps: int) -> None:
        """Take in what a step of ``n_steps`` samples has measured."""

    def state_dict(self) -> dict[str, float]:
        """Return what a checkpoint keeps."""

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on from a checkpoint."""


@dataclass
class FixedKL:
    """Always the same weight: the one that the run is started with, on resume too."""

    value: float

    def update(self, current_kl: float, n_steps: int) -> None:
        """Change nothing."""

    def state_dict(self) -> dict[str, float]:
        """Return nothing to keep."""
        return {}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Change nothing."""


@dataclass
class AdaptiveKL:
    """The weight rises while the KL is above ``target`` and falls while it is below.

    value *= 1 + clip(kl / target - 1, -0.2, 0.2) n / horizon. Source: Ziegler et al. 2019 (arXiv 1909.08593).
    """

    value: float
    target: float
    horizon: float

    def update(self, current_kl: float, n_steps: int) -> None:
        """Take in the mean KL of ``n_steps`` samples."""
        error = min(max(current_kl / self.target - 1, -0.2), 0.2)
        self.value *= 1 + error * n_steps / self.horizon

    def state_dict(self) -> dict[str, float]:
        """Return what a checkpoint keeps."""
        return {"value": self.value}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on from a checkpoint; one of a fixed weight has nothing to say."""
        self.value = float(state.get("value", self.value))


def controller(kind: str, coef: float, target: float, horizon: float) -> Controller:
    """Return the controller of ``kind``: ``fixed`` or ``adaptive``.

    Args:
        kind: its name.
        coef: the weight to begin with.
        target: KL in nats a token that ``adaptive`` steers to.
        horizon: samples in which it does so.

    Raises:
        ValueError: there is no such ``kind``.
    """
    if kind == "fixed":
        return FixedKL(coef)
    if kind == "adaptive":
        return AdaptiveKL(coef, target, horizon)
    raise ValueError(f"kl_ctrl {kind!r}: there are fixed, adaptive")

"""When the KL is that over the whole vocabulary (``full``), and what keeps it from being computed.

Standard library alone: the launcher asks, before anything is loaded. The mathematics is in ``distributions.py``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

FULL = "full"
ESTIMATES = "kl, abs, mse or low_var_kl"
BLOCK = 256  # tokens whose distributions over all words are held at once


def in_loss(config: Any) -> bool:
    """Whether verl's ``config`` has it in the policy's loss."""
    actor = config.actor_rollout_ref.actor
    return bool(actor.use_kl_loss) and actor.kl_loss_type == FULL


def is_charged(config: Any) -> bool:
    """Whether verl's ``config`` has it in the reward or in the loss."""
    in_reward = bool(config.algorithm.use_kl_in_reward) and config.algorithm.kl_penalty == FULL
    return in_reward or in_loss(config)


def faults(config: Any) -> list[str]:
    """Return why verl's ``config`` cannot have it, where it is asked for."""
    model, actor = config.actor_rollout_ref.model, config.actor_rollout_ref.actor
    modules = model.get("target_modules") or ""
    checks = [
        (
            (actor.get("ulysses_sequence_parallel_size") or 1) > 1,
            "ranks share sequences (actor_rollout_ref.actor.ulysses_sequence_parallel_size above 1)",
        ),
        (bool(model.get("use_fused_kernels")), "actor_rollout_ref.model.use_fused_kernels has a head of its own"),
        (
            "lm_head" in (modules if isinstance(modules, str) else list(modules)),
            "LoRA changes the head (lm_head in actor_rollout_ref.model.target_modules)",
        ),
    ]
    return [_line(why) for wrong, why in checks if wrong and is_charged(config)]


def model_faults(config: Any, model: Mapping[str, Any]) -> list[str]:
    """Return why ``model``, a ``config.json``, cannot have it, where verl's ``config`` asks for it."""
    if not is_charged(config) or makes_plain_logits(model.get("text_config") or model):
        return []
    return [_line(f"models of the type {model.get('model_type')} scale or cap logits behind the head")]


def makes_plain_logits(config: Any) -> bool:
    """Whether a model's logits are what its head gives: nothing is scaled or capped behind it (Gemma 2, Granite).

    ``config`` is transformers' own, or a ``config.json``.
    """
    get = config.get if isinstance(config, Mapping) else partial(getattr, config)
    scales = ("final_logit_softcapping", "logits_scaling", "logit_scale")
    return all(get(name, None) in (None, 1, 1.0) for name in scales)


def _line(why: str) -> str:
    return f"--kl_penalty full, --kl_loss_type full: {why}; take {ESTIMATES}"

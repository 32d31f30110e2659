"""Knobs of the algorithm that contradict each other. Standard library alone: it runs before anything is installed."""

from collections.abc import Mapping
from typing import Any

from trainer.algorithm.kl.full_kl import ESTIMATES, FULL


def mistaken_names(values: Mapping[str, Any], explicit: frozenset[str]) -> str:
    """Return that a knob was given which another framework calls by the name of a different one; empty where none is.

    ROLL's and TRL's ``target_kl`` is what the adaptive KL weight steers to.
    """
    limit = values["TARGET_KL"] if "TARGET_KL" in explicit else None
    if limit is None or "KL_TARGET" in explicit or values["KL_CTRL"] != "adaptive":
        return ""
    return (
        f"--target_kl {limit:g} ends the updates of a step early; --kl_ctrl adaptive steers to --kl_target, which is "
        f"{values['KL_TARGET']:g} by default (ROLL and TRL call that target_kl)"
    )


def faults(values: Mapping[str, Any]) -> list[str]:
    """Return one line a contradiction; ``values`` are the knobs by env var."""
    alone = values["ROLLOUT_N"] == 1
    shift, scale = values["REWARD_SHIFT"], values["REWARD_SCALE"]
    half = "reward_shift" if shift else "reward_scale"
    samples = values["BATCH_SIZE"] * values["ROLLOUT_N"]
    checks = [
        (
            values["REWARD_NORM"] == "group" and alone,
            "--reward_norm group: with --rollout_n 1 each prompt is a group of one; take --rollout_n 2 or more, "
            "or --reward_norm batch",
        ),
        (
            values["ADV_ESTIMATOR"] == "grpo" and alone,
            "--adv_estimator grpo compares the responses to one prompt; take --rollout_n 2 or more",
        ),
        (
            shift and scale,
            "--reward_shift and --reward_scale exclude each other: mean alone, std alone; leave out both for both",
        ),
        (
            (shift or scale) and values["REWARD_NORM"] == "none",
            f"--{half}: says how --reward_norm works, which is none; take batch, group or running",
        ),
        (
            values["KL_CTRL"] == "adaptive" and not values["KL_COEF"],
            "--kl_ctrl adaptive: --kl_coef 0 loads no reference policy; give the coefficient to start from",
        ),
        (
            # The weight is multiplied by 1 + e samples / horizon with |e| <= 0.2: it must stay positive.
            values["KL_CTRL"] == "adaptive" and 5 * values["KL_HORIZON"] <= samples,
            f"--kl_horizon {values['KL_HORIZON']}: with {samples} samples a step (--batch_size x --rollout_n) one step "
            f"could turn the KL's weight to zero or below; take {samples} or more",
        ),
        (
            values["DUAL_CLIP"] and values["CLIP_RATIO_C"] <= 1,
            f"--clip_ratio_c {values['CLIP_RATIO_C']:g}: the dual clip needs more than 1; or take --no_dual_clip",
        ),
        (
            values["TARGET_KL"] is not None and values["PPO_EPOCHS"] == 1,
            "--target_kl ends a step's update epochs early, of which --ppo_epochs 1 has one; take --ppo_epochs 2 "
            "or more (ROLL's target_kl is --kl_target, with --kl_ctrl adaptive)",
        ),
        *(
            (
                is_charged and values[env] == FULL and values["OLD_LOG_PROBS"] == "rollout",
                f"--{env.lower()} full is computed in the actor's own pass, which --old_log_probs rollout leaves out; "
                f"take --old_log_probs actor, or {ESTIMATES}",
            )
            for env, is_charged in (("KL_PENALTY", values["KL_COEF"]), ("KL_LOSS_TYPE", values["USE_KL_LOSS"]))
        ),
    ]
    return [text for wrong, text in checks if wrong]


def of_sampling(rollout: Mapping[str, Any], correction: Mapping[str, Any]) -> list[str]:
    """Return why what vLLM sampled with cannot stand for the policy, or be corrected.

    Args:
        rollout: verl's configuration of the rollout.
        correction: verl's configuration of its correction, ``algorithm.rollout_correction``.
    """
    if not correction["bypass_mode"]:
        return []
    faults = []
    keys = [key for key, whole in (("top_p", 1), ("top_k", -1)) if rollout.get(key) != whole]
    if keys:
        faults.append(
            f"--old_log_probs rollout: {' and '.join(f'actor_rollout_ref.rollout.{key}' for key in keys)} cut the "
            "distribution that is sampled from, and the update would take that for the policy; take --old_log_probs "
            "actor, or leave them out"
        )
    if correction.get("rollout_is") or correction.get("rollout_rs"):
        faults.append(
            "--old_log_probs rollout: there is nothing to correct by, as the actor's own log-probabilities are not "
            "computed; take --old_log_probs actor, or leave out --rollout_correction"
        )
    return faults


def of_groups(groups: Mapping[str, Any] | None, samples: int, shares_devices: bool) -> list[str]:
    """Return why prompts whose answers are all alike cannot be left out.

    Args:
        groups: verl's ``algorithm.filter_groups``.
        samples: answers to a prompt.
        shares_devices: whether answers are scored by a model on the policy's devices, when all is sampled.
    """
    if not groups or not groups.get("enable"):
        return []
    what = "algorithm.filter_groups.enable"
    checks = [
        (samples < 2, f"{what}: it compares the answers to one prompt; take --rollout_n 2 or more"),
        (not groups.get("metric"), f"{what}: name what is compared, as algorithm.filter_groups.metric=reward"),
        (
            shares_devices,
            f"{what}: a reward model on the policy's devices scores too late; take --rm_gpus 1 or --rm_url",
        ),
    ]
    return [text for wrong, text in checks if wrong]


def of_sampling_ahead(sampling: str, groups: Mapping[str, Any] | None, shares_devices: bool) -> list[str]:
    """Return why batches cannot be sampled before their steps.

    Args:
        sampling: the kit's ``trainer.v1.ppo_kit.sampling``.
        groups: verl's ``algorithm.filter_groups``.
        shares_devices: whether answers are scored by a model on the policy's devices, when all is sampled.
    """
    checks = [
        (
            bool(groups and groups.get("enable")),
            "algorithm.filter_groups.enable replaces prompts within a step; leave out either",
        ),
        (
            shares_devices,
            "a reward model that vLLM serves on the policy's devices scores when nothing is sampled; take --rm_gpus 1, "
            "--rm_url or --rm_engine transformers",
        ),
    ]
    return [f"--async {sampling}: {text}" for wrong, text in checks if wrong and sampling != "off"]


def of_schedule(optim: Mapping[str, Any], target_kl: float | None) -> list[str]:
    """Return what ``actor.optim`` has against ``target_kl``, whose epochs are updates of their own to verl."""
    steps, ratio = optim.get("lr_warmup_steps") or 0, optim.get("lr_warmup_steps_ratio") or 0
    if target_kl is None or (optim.get("lr_scheduler_type") == "constant" and max(steps, ratio) <= 0):
        return []
    return [
        "--target_kl needs a constant learning rate, as verl's schedule would advance with every update epoch; leave "
        "out actor_rollout_ref.actor.optim.lr_scheduler_type, lr_warmup_steps and lr_warmup_steps_ratio"
    ]

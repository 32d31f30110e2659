"""Settings that verl's files list and nothing in this trainer's way through verl reads.

verl's synchronous V1 trainer came after the one that most of its files were written for. What stands here was found by
looking for each name in the modules that a run imports; a test looks again (tests/unit/settings/test_unread.py).
"""

from collections.abc import Iterable

UNREAD = (
    "algorithm.use_pf_ppo",
    "algorithm.pf_ppo",
    "trainer.balance_batch",  # batches are always balanced
    "trainer.esi_redundant_time",
    "critic.forward_micro_batch_size",
    "critic.forward_micro_batch_size_per_gpu",
    "critic.forward_max_token_len_per_gpu",
    "actor_rollout_ref.nccl_timeout",
    "actor_rollout_ref.actor.freeze_vision_tower",
    "actor_rollout_ref.rollout.multi_stage_wake_up",
    "actor_rollout_ref.rollout.multi_turn.num_repeat_rollouts",
    "data.return_raw_input_ids",
)
OF_LORA = (  # of a backend that is not FSDP
    *("dropout_position", "lora_A_init_method", "lora_B_init_method", "a2a_experimental"),
    *("freeze_vision_model", "freeze_vision_projection", "freeze_language_model"),
)


def is_unread(key: str) -> bool:
    """Whether nothing reads a setting."""
    if any(key == ignored or key.startswith(f"{ignored}.") for ignored in UNREAD):
        return True
    return ".lora." in key and key.rpartition(".")[2] in OF_LORA


def unread_line(overrides: Iterable[str]) -> str:
    """Return one line on the overrides that change nothing; nothing where there is none."""
    keys = [word.lstrip("+~").partition("=")[0] for word in overrides]
    idle = dict.fromkeys(key for key in keys if is_unread(key))
    return f"not read by verl's trainer in this run: {', '.join(idle)}" if idle else ""

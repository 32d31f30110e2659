"""What ``config/*.yaml`` computes from other settings: ``${micro_batch:...}`` and its like."""

import os

from omegaconf import DictConfig, OmegaConf

from trainer.settings.batch_shape import MICRO_BATCH_TOKENS, micro_batch
from trainer.settings.knobs import AUTO

CPUS_OF_GPU = 3  # verl/single_controller/ray/base.py, ResourcePoolManager.max_colocate_count
SPARE_CPUS = 2  # an actor that reserves none still needs one that is free while it is made


def register() -> None:
    """Make the resolvers known to OmegaConf."""
    OmegaConf.register_new_resolver("if", lambda test, yes, no: yes if test else no, replace=True)
    OmegaConf.register_new_resolver(
        "listed", lambda word, choices: bool({word, "all"} & set(choices.split(","))), replace=True
    )
    OmegaConf.register_new_resolver("micro_batch", _micro_batch, replace=True)
    OmegaConf.register_new_resolver("packs_by_tokens", _packs_by_tokens, replace=True)
    OmegaConf.register_new_resolver("pass_tokens", _pass_tokens, replace=True)
    OmegaConf.register_new_resolver("tokens_of", _tokens_of, replace=True)
    OmegaConf.register_new_resolver("cpu_slots", _cpu_slots, replace=True)
    # What was given, or else what stands for auto and none.
    OmegaConf.register_new_resolver(
        "given", lambda value, other: other if value in (None, AUTO) else value, replace=True
    )


def _micro_batch(mini_batch: int, *, _root_: DictConfig) -> int:
    """Fit the micro batch to what the rest of the configuration says, unless one was asked for."""
    asked = os.environ["MICRO_BATCH_SIZE"]
    if asked != "auto":
        return int(asked)
    trainer, data, actor = _root_.trainer, _root_.data, _root_.actor_rollout_ref.actor
    parallel = max(actor.ulysses_sequence_parallel_size, actor.fsdp_config.ulysses_sequence_parallel_size)
    return micro_batch(
        mini_batch,
        _root_.actor_rollout_ref.rollout.n,
        trainer.n_gpus_per_node * trainer.nnodes // parallel,
        data.max_prompt_length + data.max_response_length,
        trainer.device,
    )


def _packs_by_tokens() -> bool:
    """Whether the policy's updates, too, hold as many samples a pass as their lengths allow: in episodes of turns."""
    several_turns = os.environ.get("KIT_ENVIRONMENT") or os.environ.get("KIT_TOOLS")
    return bool(several_turns) and os.environ["MICRO_BATCH_SIZE"] == AUTO


def _cpu_slots(gpus: int, least: int | None = None, *, _root_: DictConfig) -> int | None:
    """Return the CPUs that Ray is told a machine has: what verl reserves there, where that is more than there are.

    They are numbers in Ray's books, not cores. With too few, verl waits for ever, and says nothing, for a placement
    group (verl#7656): it reserves a CPU for each storage unit of the transfer queue and for its controller, and three
    for each GPU. ``least`` stands for the machine's cores where they do not count; None lets Ray count them.
    """
    units = int(_root_.transfer_queue.backend.SimpleStorage.num_data_storage_units)
    reserved = CPUS_OF_GPU * int(gpus) + units + 1 + SPARE_CPUS
    return reserved if reserved > (least or len(os.sched_getaffinity(0))) else least


def _pass_tokens(*, _root_: DictConfig) -> int:
    """Return the tokens that a pass without gradients may hold on one rank: what an update's pass is fitted to."""
    asked, length = os.environ["MICRO_BATCH_SIZE"], _tokens_of(1, _root_=_root_)
    return int(asked) * length if asked != "auto" else max(MICRO_BATCH_TOKENS[_root_.trainer.device], length)


def _tokens_of(samples: int, *, _root_: DictConfig) -> int:
    """Return the tokens of ``samples`` of full length."""
    return samples * (int(_root_.data.max_prompt_length) + int(_root_.data.max_response_length))

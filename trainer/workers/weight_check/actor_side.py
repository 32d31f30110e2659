"""The actor's side of the check: checksums of the rows that each rank holds."""

import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from trainer.workers.weight_check.checksum import Sum, of_rows

WRAPPERS = re.compile(r"(_fsdp_wrapped_module|_checkpoint_wrapped_module|_orig_mod|base_layer|default)\.")
OF_ADAPTERS = re.compile(r"lora_[AB]$")


def method(module: ModuleType) -> None:
    """Give verl's worker of the actor the method ``weight_sums``, which the driver calls on all ranks."""
    from verl.single_controller.base.decorator import Dispatch, register

    def weight_sums(self: Any, dtypes: Mapping[str, str], step: int) -> dict[str, Sum]:
        return sums(self.actor.engine.module, dtypes, step)

    module.ActorRolloutRefWorker.weight_sums = register(dispatch_mode=Dispatch.ONE_TO_ALL)(weight_sums)  # type: ignore[attr-defined]


def sums(module: torch.nn.Module, dtypes: Mapping[str, str], step: int) -> dict[str, Sum]:
    """Return this rank's share of the checksums of weights, by the names that a checkpoint has for them.

    Args:
        module: the actor.
        dtypes: of each name the type in which vLLM holds it; ``""`` is that of adapters, which are all returned.
        step: see ``of_rows``.
    """
    sums_by_name = {}
    for name, weight, scale in _named(module):
        dtype = dtypes.get("" if scale is not None else name)
        if not dtype:
            continue
        kind, shape = getattr(torch, dtype), tuple(weight.shape)
        rows, first = _rows(weight)
        if rows is not None and scale not in (None, 1.0):
            rows = rows.detach().to(kind) * scale  # as vLLM scales it when an adapter comes
        value = 0 if rows is None else of_rows(rows, shape, kind, first, step)
        sums_by_name[name] = Sum(value, shape, dtype)
    return sums_by_name


def _named(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor, float | None]]:
    """Yield weights with their names; of those of adapters, the number that vLLM multiplies them by."""
    adapters = getattr(module, "peft_config", None) or {}
    scale = _scale(adapters["default"]) if "default" in adapters else 1.0
    for name, weight in module.named_parameters():
        name = WRAPPERS.sub("", name).removeprefix("base_model.model.")
        bare = name.removesuffix(".weight")
        if OF_ADAPTERS.search(bare):
            yield bare, weight, scale if bare.endswith("lora_B") else 1.0
        else:
            yield name, weight, None


def _scale(config: Any) -> float:
    rank = float(config.r)
    return float(config.lora_alpha) / (rank**0.5 if getattr(config, "use_rslora", False) else rank)


def _rows(weight: torch.Tensor) -> tuple[torch.Tensor | None, int]:
    """Return the rows of a weight that this rank answers for, and the number of the first; None where another does."""
    if not isinstance(weight, DTensor):
        return (weight if not dist.is_initialized() or dist.get_rank() == 0 else None), 0
    coordinate = weight.device_mesh.get_coordinate()
    for place, placement in zip(coordinate or (), weight.placements, strict=False):
        if isinstance(placement, Replicate) and place:
            return None, 0
        if not isinstance(placement, Replicate) and placement != Shard(0):
            raise ValueError(f"a weight is placed as {placement}; rows are known of Shard(0) alone")
    _, offset = compute_local_shape_and_global_offset(weight.shape, weight.device_mesh, weight.placements)
    return weight.to_local(), int(offset[0]) if offset else 0

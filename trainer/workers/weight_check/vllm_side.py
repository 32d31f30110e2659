"""vLLM's side of the check: checksums of what it samples with, by the names that a checkpoint has for them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from trainer.workers.weight_check import tensor_parallel
from trainer.workers.weight_check.checksum import BITS, Sum, of_rows
from trainer.workers.weight_check.tensor_parallel import Piece

METHOD = "kit_weight_sums"


def method(module: ModuleType) -> None:
    """Give verl's extension of vLLM's worker the method that its server calls."""

    def weight_sums(self: Any, step: int) -> dict[str, list[Any]]:
        return {name: list(total) for name, total in sums(self.model_runner, step).items()}

    setattr(module.vLLMColocateWorkerExtension, METHOD, weight_sums)  # type: ignore[attr-defined]


def sums(runner: Any, step: int) -> dict[str, Sum]:
    """Return the checksums of the model and of the adapter of a runner: what this worker holds of them."""
    sums_by_name: dict[str, Sum] = {}
    for name, (rows, first, shape, workers) in [*_weights(runner.model), *_adapter(runner)]:
        if rows.dtype in BITS and shape and (rows.numel() or workers > 1) and not rows.is_meta:
            value = of_rows(rows, shape, rows.dtype, first, step)
            sums_by_name[name] = Sum(value, shape, str(rows.dtype).removeprefix("torch."), workers)
    return sums_by_name


def _weights(model: torch.nn.Module) -> Iterator[tuple[str, Piece]]:
    """Yield the weights, those that vLLM has joined one by one."""
    joined: dict[str, list[str]] = getattr(model, "packed_modules_mapping", None) or {}
    for path, module in model.named_modules():
        for kind, weight in module.named_parameters(recurse=False):
            place = path.replace(".base_layer", "")
            above, dot, last = place.rpartition(".")
            parts = list(tensor_parallel.joined(module, weight.detach()) or ()) if last in joined else []
            if parts and len(parts) == len(joined[last]):
                for part, held in zip(joined[last], parts, strict=True):
                    yield f"{above}{dot}{part}.{kind}", held
            else:
                yield f"{place}.{kind}", tensor_parallel.piece(module, kind, weight.detach())


def _adapter(runner: Any) -> Iterator[tuple[str, Piece]]:
    from verl.workers.rollout.vllm_rollout.utils import VLLM_LORA_INT_ID

    manager = getattr(getattr(runner, "lora_manager", None), "_adapter_manager", None)
    if manager is None or (adapter := manager.get_adapter(VLLM_LORA_INT_ID)) is None:
        return
    joined: dict[str, list[str]] = getattr(manager, "packed_modules_mapping", None) or {}
    for path, layer in adapter.loras.items():
        above, dot, last = path.rpartition(".")
        parts = joined.get(last, [last])
        for kind, weights in (("lora_A", layer.lora_a), ("lora_B", layer.lora_b)):
            weights = weights if isinstance(weights, list | tuple) else [weights]
            for part, weight in zip(parts, weights, strict=False):
                if weight is not None:
                    yield f"{above}{dot}{part}.{kind}", Piece.whole(weight)

"""vLLM's side of the check: checksums of what it samples with, by the names that a checkpoint has for them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from trainer.workers.weight_check.checksum import BITS, Sum, of_rows

METHOD = "kit_weight_sums"


def method(module: ModuleType) -> None:
    """Give verl's extension of vLLM's worker the method that its server calls."""

    def weight_sums(self: Any, step: int) -> dict[str, list[Any]]:
        return {name: list(total) for name, total in sums(self.model_runner, step).items()}

    setattr(module.vLLMColocateWorkerExtension, METHOD, weight_sums)  # type: ignore[attr-defined]


def sums(runner: Any, step: int) -> dict[str, Sum]:
    """Return the checksums of the model and of the adapter of a runner.

    Of a model that is spread over several workers, only what each of them holds as a whole will have the shape that
    the actor's has.
    """
    sums_by_name: dict[str, Sum] = {}
    for name, weight in [*_weights(runner.model), *_adapter(runner)]:
        if weight.dtype in BITS and weight.dim() and weight.numel() and not weight.is_meta:
            shape = tuple(weight.shape)
            value = of_rows(weight, shape, weight.dtype, step=step)
            sums_by_name[name] = Sum(value, shape, str(weight.dtype).removeprefix("torch."))
    return sums_by_name


def _weights(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the weights, those that vLLM has joined one by one."""
    joined: dict[str, list[str]] = getattr(model, "packed_modules_mapping", None) or {}
    for path, module in model.named_modules():
        for kind, weight in module.named_parameters(recurse=False):
            place = path.replace(".base_layer", "")
            above, dot, last = place.rpartition(".")
            sizes = getattr(module, "output_sizes", None)
            if last in joined and sizes and sum(sizes) == len(weight) and len(sizes) == len(joined[last]):
                for part, rows in zip(joined[last], weight.detach().split(list(sizes)), strict=True):
                    yield f"{above}{dot}{part}.{kind}", rows
            else:
                size = getattr(module, "org_vocab_size", len(weight) if weight.dim() else 0)
                yield f"{place}.{kind}", weight.detach()[:size] if weight.dim() else weight


def _adapter(runner: Any) -> Iterator[tuple[str, torch.Tensor]]:
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
                    yield f"{above}{dot}{part}.{kind}", weight

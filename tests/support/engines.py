"""verl's engines and the kit's, as far as a micro batch's way through a model goes: no workers, no FSDP."""

from types import SimpleNamespace
from typing import Any

import torch
from verl.utils import torch_functional
from verl.workers.utils.padding import no_padding_2_padding

from trainer.workers.engine import prefix_packing, reference_states


def nested(rows) -> torch.Tensor:
    return torch.nested.as_nested_tensor(list(rows), layout=torch.jagged)


def of(kind: type, model: torch.nn.Module):
    """An engine without what it does not need to compute."""
    made = object.__new__(kind)
    made.module, made.use_ulysses_sp, made.pad_to_length = model, False, False
    made.packs = model.config._attn_implementation == prefix_packing.NAME
    made.engine_config = SimpleNamespace(entropy_checkpointing=False, entropy_from_logits_with_chunking=False)
    made.compute_entropy_from_logits = torch_functional.entropy_from_logits
    made._get_packed_pad_size = lambda size: 0
    if issubclass(kind, reference_states.Comparing):
        made.head = reference_states.ReadableHead.of(model)
    return made


def run(kind: type, model: torch.nn.Module, data) -> tuple[dict[str, Any], dict[str, Any], torch.Size, torch.Size]:
    """Return what is read of the output, the gradients of all of it, and the shapes of the tokens and the logits."""
    engine = of(kind, model)
    inputs, arguments = engine.prepare_model_inputs(data)
    output = model(**inputs, use_cache=False)
    found = engine.prepare_model_outputs(output, arguments, data, None)
    read = {name: no_padding_2_padding(values, data) for name, values in found.items()}
    model.zero_grad()
    sum((values * torch.arange(1, values.numel() + 1).view_as(values)).sum() for values in read.values()).backward()
    gradients = {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
    return read, gradients, inputs["input_ids"].shape, output.logits.shape

"""Both models of a KL over the whole vocabulary, by the kit's engine and by logits that are held whole.

``python -m tests.support.full_kl RANK RANKS FOLDER MODEL REFERENCE [MODEL REFERENCE ...]`` is one rank of FSDP2 over
gloo, which saves what it has computed of each pair into FOLDER.
"""

import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from tensordict import NonTensorStack
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM
from verl.utils import tensordict_utils as tu
from verl.workers.engine.fsdp import transformer_impl
from verl.workers.utils.padding import no_padding_2_padding

from tests.support.engines import nested, of
from trainer.workers.engine import prefix_packing, reference_states, response_logits
from trainer.workers.engine.reference_states import COMPARE, HEAD_TASK, KEEP

TEMPERATURE = 0.75  # verl hands it on in float32, of which this is a number
# What gives each output a gradient of its own; ref_log_probs have none.
WEIGHTS = {"log_probs": 0.3, "entropy": -0.2, "vocabulary_kl": 1.7}


def micro_batch(prompts: list[int], responses: list[int], seed: int = 1, **options: Any) -> Any:
    """A micro batch as verl's workers get it; prompts begin alike, as with a chat template."""
    generator = torch.Generator().manual_seed(seed)
    template = torch.arange(5, 8)
    starts = [torch.cat([template, torch.randint(3, 200, (n - 3,), generator=generator)]) for n in prompts]
    ends = [torch.randint(3, 200, (n,), generator=generator) for n in responses]
    rows = [torch.cat(pair) for pair in zip(starts, ends, strict=True)]
    tensors = {
        "input_ids": nested(rows),
        "position_ids": nested(torch.arange(len(row)) for row in rows),
        "prompts": nested(starts),
        "responses": nested(ends),
        "uid": NonTensorStack(*(f"{seed}-{i}" for i in range(len(rows)))),
        "session_id": NonTensorStack(*range(len(rows))),
    }
    return tu.get_tensordict(
        tensors, {"temperature": TEMPERATURE, "use_remove_padding": False, "calculate_entropy": True, **options}
    )


def engine_kind() -> type:
    """The kit's engine of language models."""
    return reference_states.engine(response_logits.engines(transformer_impl)["language_model"])


def compared(model: torch.nn.Module, reference: torch.nn.Module, data: Any) -> dict[str, torch.Tensor]:
    """Return what the engine says of a micro batch's responses, (B, r); the reference's pass comes first."""
    store = reference_states.ReferenceStates()
    for of_model, task in ((reference, KEEP), (model, COMPARE)):
        engine = of(engine_kind(), of_model)
        engine.reference = store
        own = data.copy()
        tu.assign_non_tensor(own, **{HEAD_TASK: task})
        with torch.set_grad_enabled(task == COMPARE):
            inputs, arguments = engine.prepare_model_inputs(own)
            output = of_model(**inputs, use_cache=False)
            made = engine.prepare_model_outputs(output, arguments, own, None)
        assert engine.head.read is None
    return {name: no_padding_2_padding(values, data) for name, values in made.items()}


def dense(model: torch.nn.Module, reference: torch.nn.Module, data: Any) -> dict[str, torch.Tensor]:
    """Return the same by logits of each sequence alone, held whole."""
    rows: dict[str, list[torch.Tensor]] = {name: [] for name in reference_states.OUTPUTS}
    longest = max(len(response) for response in data["responses"].unbind())
    for ids, prompt in zip(data["input_ids"].unbind(), data["prompts"].unbind(), strict=True):
        labels, logs = ids[len(prompt) :], []
        for each in (model, reference):
            logits = each(input_ids=ids.unsqueeze(0), use_cache=False).logits[0, len(prompt) - 1 : -1]
            logs.append((logits / TEMPERATURE).log_softmax(-1))
        log_p, log_q = logs[0], logs[1].detach()
        values = {
            "log_probs": log_p.gather(-1, labels.unsqueeze(-1)).squeeze(-1),
            "entropy": -(log_p.exp() * log_p).sum(-1),
            "ref_log_probs": log_q.gather(-1, labels.unsqueeze(-1)).squeeze(-1),
            "vocabulary_kl": (log_p.exp() * (log_p - log_q)).sum(-1),
        }
        for name, value in values.items():
            rows[name].append(torch.nn.functional.pad(value, (0, longest - len(labels))))
    return {name: torch.stack(values) for name, values in rows.items()}


def loss(values: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return a number that all outputs are in, each token with a weight of its own."""
    first = values["log_probs"]
    places = torch.arange(1, first.numel() + 1, dtype=first.dtype).view_as(first) / first.numel()
    return sum((weight * places * values[name]).sum() for name, weight in WEIGHTS.items())


def load(folder: str | Path, packed: bool, dtype: torch.dtype = torch.float64) -> torch.nn.Module:
    """Return a model as the engine has it."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa")
    assert not packed or prefix_packing.enable_prefix_packing(model)
    return model


def main(rank: int, ranks: int, folder: Path, *models: str) -> None:
    """Run one rank: a micro batch of its own, values, and gradients as FSDP2 has averaged them, for each pair."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/ranks", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("fsdp",))
    for number, pair in enumerate(zip(models[::2], models[1::2], strict=True)):
        loaded = [load(path, packed=True) for path in pair]
        for model in loaded:
            for layer in model.model.layers:
                fully_shard(layer, mesh=mesh)
            fully_shard(model, mesh=mesh)
        values = compared(*loaded, micro_batch([4, 9, 6], [5, 1, 7], seed=rank))
        loss(values).backward()
        gradients = {name: weight.grad.full_tensor() for name, weight in loaded[0].named_parameters()}
        saved = {"values": {name: value.detach() for name, value in values.items()}, "gradients": gradients}
        torch.save(saved, folder / f"pair_{number}_rank_{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])

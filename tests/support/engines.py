"""verl's engines and the kit's, as far as a micro batch's way through a model goes: no workers, no FSDP."""

from types import SimpleNamespace
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoModelForTokenClassification
from verl.utils import torch_functional
from verl.workers.config import FSDPActorConfig, FSDPCriticConfig
from verl.workers.utils.padding import no_padding_2_padding

from trainer.workers.engine import prefix_packing, reference_states

SMALL = {
    "vocab_size": 200,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "pad_token_id": 0,
    "sliding_window": None,
    "use_sliding_window": False,
    "num_experts": 4,
    "num_local_experts": 4,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "num_experts_per_tok": 2,
    "attn_implementation": "sdpa",
    "experts_implementation": "eager",  # the others have no float64
}


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


def made(kind: str, model_type: str = "qwen2", **options):
    """A model of random weights in float64."""
    torch.manual_seed(0)
    auto = {"language_model": AutoModelForCausalLM, "value_model": AutoModelForTokenClassification}[kind]
    config = CONFIG_MAPPING[model_type](**SMALL, num_labels=1, classifier_dropout=0.0, **options)
    return auto.from_config(config, dtype=torch.float64)


def dense_varlen(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, scale=None, window_size=(-1, -1)):
    """What torch's kernel computes, which wants a GPU: (T, heads, d) of each, sequences by their offsets."""
    assert cu_seq_q.dtype == torch.int32 and cu_seq_q is cu_seq_k and window_size == (-1, 0)
    assert max_q == max_k == int(cu_seq_q.diff().max()) and query.shape == key.shape == value.shape
    parts = [tensor.split(cu_seq_q.diff().tolist()) for tensor in (query, key, value)]
    rows = [
        torch.nn.functional.scaled_dot_product_attention(
            *(part.transpose(0, 1) for part in sequence), is_causal=True, scale=scale
        ).transpose(0, 1)
        for sequence in zip(*parts, strict=True)
    ]
    return torch.cat(rows)


def actor(mode: str = "token-mean", **changes: object) -> FSDPActorConfig:
    return FSDPActorConfig(
        **{"strategy": "fsdp2", "rollout_n": 1, "ppo_micro_batch_size_per_gpu": 3, "loss_agg_mode": mode, **changes}
    )


def critic(mode: str = "token-mean", **changes: object) -> FSDPCriticConfig:
    return FSDPCriticConfig(
        **{"strategy": "fsdp2", "ppo_micro_batch_size_per_gpu": 3, "loss_agg_mode": mode, **changes}
    )

"""RLHFlow/ArmoRM-Llama3-8B: 19 objectives, mixed by a gate that reads the prompt (Wang et al. 2024, arXiv:2406.12845).

Score: sum over objectives of gate(h_prompt) * (h_last @ R^T @ D), where h_last is the last token's state, R the
regression layer, D the matrix that takes verbosity out, and h_prompt the state where the last prompt ends. The gate is
an MLP, softmax at a temperature, times a scale. The checkpoint's own code does not import on transformers 5.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reward.model.architectures.adapter import Config, Encoded, PaddedBatch
from reward.model.architectures.classification import SequenceClassification
from reward.model.architectures.weights import tensors
from reward.model.errors import RewardModelError
from reward.model.messages import Messages

PROMPT_END = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"  # the gate looks at its first token
LIMIT = 4096  # tokens, as on its card


class GatingNetwork(nn.Module):  # type: ignore[misc]
    """From a prompt's state, (B, hidden), to a weight for each objective, (B, objectives)."""

    def __init__(self, hidden: int, objectives: int, width: int, depth: int, temperature: float) -> None:
        super().__init__()
        sizes = [hidden, *[width] * depth, objectives]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.logit_scale = nn.Parameter(torch.ones(1))
        self.temperature = temperature

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        """Return softmax(MLP(state) / temperature) * scale."""
        *hidden, out = self.layers
        for layer in hidden:
            state = torch.relu(layer(state))
        return torch.softmax(out(state) / self.temperature, dim=-1) * self.logit_scale


class ArmoModel(nn.Module):  # type: ignore[misc]
    """Llama with the two heads; its weights have the names of the checkpoint."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        from transformers import LlamaModel

        options = config.to_dict()
        self.config = config
        self.model = LlamaModel(config)
        count = int(options.get("num_objectives", 19))
        self.regression_layer = nn.Linear(config.hidden_size, count, bias=False)
        self.reward_transform_matrix = nn.Parameter(torch.eye(count), requires_grad=False)
        width, depth = int(options.get("gating_hidden_dim", 1024)), int(options.get("gating_n_hidden", 3))
        self.gating = GatingNetwork(
            config.hidden_size, count, width, depth, float(options.get("gating_temperature", 10))
        )

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, last: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
        """Return scores, (B,). The heads compute in float32."""
        states = self.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        rows = torch.arange(len(ids), device=ids.device)
        rewards = self.regression_layer(states[rows, last].float()) @ self.reward_transform_matrix
        return (self.gating(states[rows, marks].float()) * rewards).sum(dim=-1)


class ArmoRM(SequenceClassification):
    """The adapter."""

    def faults(self, config: Config, tokenizer: Any) -> list[str]:
        """No template."""
        if self.template is None and not getattr(tokenizer, "chat_template", None):
            return ["its tokenizer has no chat template, and the gate needs Llama 3's"]
        return []

    def weight_names(self, config: Config) -> tuple[str, ...]:
        """Both heads."""
        return ("regression_layer.weight", "gating.layers.0.weight", "reward_transform_matrix")

    def by_vllm(self, config: Config) -> bool:
        """No: vLLM has no such architecture."""
        return False

    def limit(self, config: Config) -> int:
        """4,096 tokens, or its positions."""
        return min(int(config.get("max_position_embeddings") or LIMIT), LIMIT)

    def encode(self, tokenizer: Any, messages: Messages) -> Encoded:
        """Token ids, and where the last prompt ends.

        Raises:
            ValueError: the template is not Llama 3's.
        """
        ids = super().encode(tokenizer, messages).ids
        pattern = tuple(tokenizer(PROMPT_END, add_special_tokens=False)["input_ids"])
        starts = range(len(ids) - len(pattern), -1, -1)
        mark = next((i for i in starts if ids[i : i + len(pattern)] == pattern), -1)
        if mark < 0:
            raise ValueError(f"ArmoRM's gate finds no {PROMPT_END!r} in the conversation: Llama 3's template is wanted")
        return Encoded(ids, mark=mark)

    def load(self, folder: Path, dtype: torch.dtype, trust_remote_code: bool) -> torch.nn.Module:
        """Load the backbone in ``dtype`` and the heads in float32."""
        from transformers import LlamaConfig

        config = LlamaConfig.from_pretrained(folder)
        with torch.device("meta"):
            model = ArmoModel(config)
        return fill(model, dict(tensors(folder)), dtype, folder)

    def scores(self, model: Any, batch: PaddedBatch) -> torch.Tensor:
        """The gated sum, (B,)."""
        return model(batch.ids, batch.mask, batch.last, batch.marks)  # type: ignore[no-any-return]


def fill(model: Any, tensors: dict[str, torch.Tensor], dtype: torch.dtype, folder: Path) -> torch.nn.Module:
    """Give ``model``, made on the meta device, its weights: ``model.*`` in ``dtype``, heads in float32.

    Raises:
        RewardModelError: weights are missing or have other shapes.
    """
    wanted = model.state_dict()
    missing = sorted(wanted.keys() - tensors.keys())
    if missing:
        raise RewardModelError(f"{folder}: its weights lack {', '.join(missing[:5])}: not a whole reward model")
    wrong = [name for name in wanted if wanted[name].shape != tensors[name].shape]
    if wrong:
        raise RewardModelError(
            f"{folder}: {wrong[0]} has the shape {tuple(tensors[wrong[0]].shape)} in its weights, "
            f"and its config.json says {tuple(wanted[wrong[0]].shape)}"
        )
    state = {name: tensors[name].to(dtype if name.startswith("model.") else torch.float32) for name in wanted}
    model.load_state_dict(state, assign=True)
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)  # its buffers are in no checkpoint
    return model  # type: ignore[no-any-return]

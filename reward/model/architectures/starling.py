"""berkeley-nest/Starling-RM-7B-alpha: Llama 2 with a linear head, read as its card reads it.

Input: ``<s>[INST] question </s> [/INST] answer</s>`` through Llama 2's tokenizer, which adds a BOS, cut from the left
to 2,048 tokens. Scalar: ``v_head`` one before the first pad in the input padded to 2,048 tokens. The card asks the
tokenizer for the pad's id and gets the BOS that it adds, which every input has first: so the position is -1, the last
of 2,048, which holds padding unless the input is that long. With a tokenizer that adds no BOS it is the last token.
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from reward.model.architectures.adapter import Config, Encoded, PaddedBatch
from reward.model.architectures.armorm import fill
from reward.model.architectures.classification import SequenceClassification
from reward.model.architectures.weights import tensors
from reward.model.messages import Messages

LENGTH = 2048  # tokens: what the card pads and cuts to
TOKENIZER = "meta-llama/Llama-2-7b-chat-hf"  # the repository of the model has none


class StarlingModel(nn.Module):  # type: ignore[misc]
    """Llama without its language head, and ``v_head``; other names than in the checkpoint: ``renamed``."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        from transformers import LlamaModel

        self.config = config
        self.model = LlamaModel(config)
        self.v_head = nn.Linear(config.hidden_size, 1, bias=False)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, places: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """Return scores, (B,), at the index ``at`` of each row; ``places`` are the tokens' positions, (B, T)."""
        states = self.model(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=False)[0]
        rows = torch.arange(len(ids), device=ids.device)
        return self.v_head(states[rows, at].float()).squeeze(-1)  # type: ignore[no-any-return]


def renamed(name: str) -> str:
    """Return the name of a weight here; the checkpoint holds the backbone twice, as ``transformer`` and ``model``."""
    for before in ("transformer.", "model.model."):
        if name.startswith(before):
            return "model." + name.removeprefix(before)
    return name


class Starling(SequenceClassification):
    """The adapter."""

    def faults(self, config: Config, tokenizer: Any) -> list[str]:
        """A tokenizer without an unknown token, which the card pads with."""
        if getattr(tokenizer, "unk_token_id", None) is None:
            return [f"its tokenizer has no unknown token; give Llama 2's, as in --rm_tokenizer {TOKENIZER}"]
        return []

    def weight_names(self, config: Config) -> tuple[str, ...]:
        """The head."""
        return ("v_head.weight",)

    def by_vllm(self, config: Config) -> bool:
        """No: vLLM has no such architecture."""
        return False

    def limit(self, config: Config) -> int:
        """No limit on the way here: ``encode`` cuts as the card does."""
        return 1 << 30

    def text(self, tokenizer: Any, messages: Messages) -> str:
        """The card's form of Llama 2's template; a system prompt stands in the first question, as in Llama 2."""
        system = "".join(f"<<SYS>>\n{t['content']}\n<</SYS>>\n\n" for t in messages if t["role"] == "system")
        parts = []
        for turn in messages:
            if turn["role"] == "user":
                parts.append(f"<s>[INST] {system}{turn['content']} </s> [/INST]")
                system = ""
            elif turn["role"] == "assistant":
                parts.append(f" {turn['content']}</s>")
        return "".join(parts)

    def encode(self, tokenizer: Any, messages: Messages) -> Encoded:
        """Token ids, cut from the left; ``mark`` is the scalar's position, in the input padded to 2,048 tokens."""
        ids = tokenizer(self.text(tokenizer, messages))["input_ids"]
        cut = max(0, len(ids) - LENGTH)
        if cut:
            added = len(ids) - len(tokenizer(self.text(tokenizer, messages), add_special_tokens=False)["input_ids"])
            ids = [*ids[:added], *ids[added + cut :]]  # the BOS that the tokenizer adds stays
        pad = tokenizer(tokenizer.unk_token)["input_ids"][0]
        padded = [*ids, *[tokenizer.unk_token_id] * (LENGTH - len(ids))]
        first = padded.index(pad) if pad in padded else LENGTH
        return Encoded(tuple(ids), mark=(first - 1) % LENGTH, cut=cut, pad=tokenizer.unk_token_id)

    def load(self, folder: Path, dtype: torch.dtype, trust_remote_code: bool) -> torch.nn.Module:
        """Load the backbone in ``dtype`` and the head in float32."""
        from transformers import LlamaConfig

        with torch.device("meta"):
            model = StarlingModel(LlamaConfig.from_pretrained(folder))
        return fill(model, {renamed(name): tensor for name, tensor in tensors(folder)}, dtype, folder)

    def scores(self, model: Any, batch: PaddedBatch) -> torch.Tensor:
        """``v_head`` at ``marks``, (B,); of the padding between the input and a mark beyond it, one token is enough.

        Nothing attends to padding, so only its own position, 2,047 as a rule, and its id count.
        """
        ends, width = batch.last + 1, batch.ids.shape[1]
        beyond = batch.marks >= ends
        ids = torch.cat([batch.ids, torch.full_like(batch.ids[:, :1], batch.pad)], dim=1)
        mask = torch.cat([batch.mask, torch.zeros_like(batch.mask[:, :1])], dim=1)
        places = torch.arange(width + 1, device=ids.device).expand(len(ids), -1).clone()
        places[:, -1] = batch.marks
        at = torch.where(beyond, width, batch.marks)
        return model(ids, mask, places, at)  # type: ignore[no-any-return]

"""Encoders that read a question and an answer as two texts: OpenAssistant/reward-model-deberta-v3-large-v2.

Input: ``tokenizer(question, answer)``, no template, 512 positions. Scalar: ``logits[0]``.
"""

from typing import Any

import torch

from reward.model.architectures.adapter import Config, Encoded, PaddedBatch
from reward.model.architectures.classification import SequenceClassification
from reward.model.messages import Messages

NAMES = {"user": "Human", "assistant": "Assistant"}


class QuestionAnswer(SequenceClassification):
    """A classifier over two texts. Earlier turns stand in the question as ``Human:`` and ``Assistant:``."""

    def faults(self, config: Config, tokenizer: Any) -> list[str]:
        """As for one text, but it needs no template."""
        return [fault for fault in super().faults(config, tokenizer) if "chat template" not in fault]

    def weight_names(self, config: Config) -> tuple[str, ...]:
        """The head, and the dense layer before it."""
        return ("classifier.weight", "pooler.dense.weight")

    def by_vllm(self, config: Config) -> bool:
        """No: vLLM has no DeBERTa."""
        return False

    def limit(self, config: Config) -> int:
        """Its positions."""
        return int(config.get("max_position_embeddings") or 512)

    def texts(self, messages: Messages) -> tuple[str, str]:
        """Return question and answer."""
        system = [turn["content"] for turn in messages if turn["role"] == "system"]
        turns = [turn for turn in messages[:-1] if turn["role"] != "system"]
        if len(turns) == 1:
            question = turns[0]["content"]
        else:
            question = "\n\n".join(f"{NAMES.get(turn['role'], turn['role'])}: {turn['content']}" for turn in turns)
        return "\n\n".join([*system, question]), messages[-1]["content"]

    def text(self, tokenizer: Any, messages: Messages) -> str:
        """The two texts with their separators, as the tokenizer puts them together."""
        return str(tokenizer.decode(self.encode(tokenizer, messages).ids))

    def encode(self, tokenizer: Any, messages: Messages) -> Encoded:
        """``tokenizer(question, answer)``."""
        encoded = tokenizer(*self.texts(messages), return_token_type_ids=True)
        return Encoded(tuple(encoded["input_ids"]), tuple(encoded["token_type_ids"]))

    def scores(self, model: Any, batch: PaddedBatch) -> torch.Tensor:
        """``logits[0]``, from the first token."""
        types = {} if batch.types is None else {"token_type_ids": batch.types}
        logits = model(input_ids=batch.ids, attention_mask=batch.mask, **types).logits.float()
        return self.weigh(logits, model.config.to_dict())

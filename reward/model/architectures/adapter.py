"""What an adapter is: how a conversation becomes a model's input, and where the model's number is.

A reward model of a kind that is not known here is brought with ``--rm_adapter path.py:name``; deriving the class from
``SequenceClassification`` leaves little to write (docs/reward_models.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from reward.model.messages import Messages

Config = Mapping[str, Any]  # config.json


@dataclass(frozen=True)
class Encoded:
    """The input of one conversation: token ids, and what else this kind of model needs."""

    ids: tuple[int, ...]
    types: tuple[int, ...] = ()  # of the two texts of a pair
    mark: int = -1  # a position that the head looks at too
    cut: int = 0  # tokens that the conversation was longer than the model takes
    pad: int = 0  # id to pad with, where it matters


@dataclass(frozen=True)
class PaddedBatch:
    """Inputs of several conversations, padded on the right: (B, T), and (B,) for ``marks``."""

    ids: torch.Tensor
    mask: torch.Tensor
    types: torch.Tensor | None
    marks: torch.Tensor
    pad: int

    @property
    def last(self) -> torch.Tensor:
        """Position of the last token of each row, (B,)."""
        return self.mask.sum(dim=1) - 1


class Adapter(Protocol):
    """One kind of reward model."""

    def faults(self, config: Config, tokenizer: Any) -> list[str]:
        """Return what is wrong with such a model, one line each, without its weights."""

    def weight_names(self, config: Config) -> tuple[str, ...]:
        """Return names of weights without which it is no reward model."""

    def by_vllm(self, config: Config) -> bool:
        """Return whether vLLM's ``/classify`` gives the same number for the same ids."""

    def limit(self, config: Config) -> int:
        """Return the longest input in tokens."""

    def text(self, tokenizer: Any, messages: Messages) -> str:
        """Return the text that the model sees."""

    def encode(self, tokenizer: Any, messages: Messages) -> Encoded:
        """Return the input for ``messages``, the last of which is scored; of any length."""

    def load(self, folder: Path, dtype: torch.dtype, trust_remote_code: bool) -> torch.nn.Module:
        """Load the weights."""

    def scores(self, model: Any, batch: PaddedBatch) -> torch.Tensor:
        """Return the score of each conversation, (B,)."""

"""The passes through the models before an update: log-probabilities, the reference's and values, each in one call.

verl/trainer/ppo/v1/trainer_base.py, ``_compute_values`` and the two beside it: the worker writes values of whole
sequences into the queue, and the trainer reads those, cuts out the responses and writes them again. Here the worker
writes what is read later, of responses alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ray
import torch
from transfer_queue import KVBatchMeta
from verl.utils import tensordict_utils as tu

from reward.support import events
from trainer.algorithm.divisors import largest_divisor
from trainer.workers.engine.response_logits import read_positions

# Of the batch's extra_info: which outputs of the pass are written, {verl's name: name in the queue}.
OUTPUT_NAMES = "kit_output_names"
# What a model reads of a sample.
MODEL_FIELDS = (
    "input_ids",
    "position_ids",
    "prompts",
    "responses",
    "loss_mask",
    "multi_modal_inputs",
    "routed_experts",
)


@dataclass(frozen=True)
class PassConfig:
    """What a pass goes by: verl's ``rollout`` configuration, and in how many parts a batch is computed."""

    temperature: float
    tokens: int  # that a pass holds on one rank
    ranks: int

    def micro_batch(self, lengths: Sequence[int]) -> int:
        """Return how many samples of a batch to compute at once: all of its lengths in bounds, padded to the longest.

        verl's own size is one of full lengths, which few samples have.
        """
        return largest_divisor(len(lengths) // self.ranks, self.tokens // max(lengths))


def run(
    method: Callable[[Any], Any],
    batch: Any,
    names: Mapping[str, str],
    limits: PassConfig,
    fields: Sequence[str] = MODEL_FIELDS,
    **extra: Any,
) -> None:
    """Have the workers compute ``names`` of a batch; ``method`` is one of a worker group, of verl's passes.

    ``fields`` are those of the batch that the workers read.
    """
    info = {
        "compute_loss": False,
        "temperature": limits.temperature,
        "micro_batch_size_per_gpu": limits.micro_batch([tag["seq_len"] for tag in batch.tags]),
        OUTPUT_NAMES: dict(names),
        **extra,
    }
    batch_of_pass = KVBatchMeta(batch.keys, batch.tags, batch.partition_id, list(fields), info)
    output = method(batch_of_pass)
    if hasattr(output, "futures"):
        ray.get(output.futures)


def of_responses(values: torch.Tensor, prompts: torch.Tensor, responses: torch.Tensor) -> torch.Tensor:
    """Return what a pass says of each response's tokens, (B, r), of ``values`` of whole sequences; all nested.

    What stands at a position is of the next token: verl/workers/utils/padding.py, ``response_from_nested``. The
    result is where the batch is, in host memory; ``values`` may still be on a GPU.
    """
    positions, _ = read_positions(prompts, responses)
    return torch.nested.nested_tensor_from_jagged(values.values().to(responses.device)[positions], responses.offsets())


def engine(kind: type) -> type:
    """Return an engine of verl's whose passes without a loss give ``OUTPUT_NAMES``, where the batch has it."""
    return type(f"Passes{kind.__name__}", (Passes, kind), {})


class Passes:
    """What stands before verl's engine."""

    def initialize(self) -> None:
        """Load the model as verl does; the first rank tells of the critic's, which is the first."""
        super().initialize()  # type: ignore[misc]
        if self.rank == 0 and self.model_config.model_type == "value_model":  # type: ignore[attr-defined]
            events.emit("worker", "phase", name="critic_loaded")

    def infer_batch(self, data: Any, loss_function: Callable[..., Any] | None = None) -> Any:
        """Compute as verl does; of the outputs, return the named ones of responses."""
        output = super().infer_batch(data, loss_function)  # type: ignore[misc]
        names = tu.get_non_tensor_data(data=data, key=OUTPUT_NAMES, default=None)
        if names and "model_output" in output:
            whole = output["model_output"]
            output["model_output"] = {
                new: of_responses(whole[name], data["prompts"], data["responses"]) for name, new in names.items()
            }
        return output

"""Some levers of tests/bench/README.md alone, at the shape of SmolLM2-135M: each with and without, medians in ms.

.venv/bin/python -m tests.bench.levers
"""

import pickle
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
import torch.utils.deterministic
import verl  # noqa: F401  (loads the kit's plugin)
from tensordict import TensorDict
from torch.distributed.fsdp import fully_shard
from transfer_queue.utils import serial_utils
from transformers import LlamaConfig, LlamaForCausalLM
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from trainer import columns
from trainer.cpu.patches import sampled
from trainer.rollout import rows

ROWS, WORDS = 128, 49152


def milliseconds(*ways: Callable[[], Any], rounds: int = 5) -> list[float]:
    """Return the median of each way's milliseconds; they take turns, after a round that warms up."""
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds + 1):
        for each, way in zip(taken, ways, strict=True):
            start = time.perf_counter()
            way()
            each.append(1000 * (time.perf_counter() - start))
    return [statistics.median(each[1:]) for each in taken]


def messages() -> None:
    """A message of the transfer queue, and what samples and prompts are put into."""
    body = {"data": {name: [torch.arange(3 + row % 9) for row in range(ROWS)] for name in "abcdefgh"}}

    def without() -> list[Any]:
        with mock.patch.object(columns, "joined", lambda message: message):
            return list(serial_utils.encode(body))

    one, many = serial_utils.encode(body), without()
    tell("encode 8 columns of 128 tensors", *milliseconds(without, lambda: serial_utils.encode(body)))
    tell("decode them", *milliseconds(lambda: serial_utils.decode(many), lambda: serial_utils.decode(one)))
    samples = [{**{f"text{i}": f"{row}" for i in range(16)}, "ids": torch.arange(3 + row % 9)} for row in range(ROWS)]
    tell(
        "a table of 128 samples of 17 fields",
        *milliseconds(lambda: list_of_dict_to_tensordict(samples), lambda: columns.Table(samples)),
    )
    batch: TensorDict = list_of_dict_to_tensordict(samples)
    packed = rows.columns(batch)
    tell("pickle it as prompts", *milliseconds(lambda: pickle.dumps(batch), lambda: pickle.dumps(packed)))


def model() -> None:
    """Forward, backward and AdamW, with FSDP2 of one rank, as a run has it."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    mesh = dist.init_device_mesh("cpu", (1,))
    config = LlamaConfig(
        **{"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "vocab_size": WORDS},
        **{"num_attention_heads": 9, "num_key_value_heads": 3, "tie_word_embeddings": True},
    )
    llama, ids = LlamaForCausalLM(config), torch.randint(0, WORDS, (16, 51))
    for part in (*llama.model.layers, llama):
        fully_shard(part, mesh=mesh)
    torch.use_deterministic_algorithms(True, warn_only=True)

    def update(filled: bool) -> None:
        torch.utils.deterministic.fill_uninitialized_memory = filled
        llama(ids, use_cache=False, logits_to_keep=17).logits.logsumexp(-1).sum().backward()
        torch.utils.deterministic.fill_uninitialized_memory = False

    tell(
        "forward and backward of 16 x 51 tokens, memory filled",
        *milliseconds(lambda: update(True), lambda: update(False)),
    )
    one, several = (torch.optim.AdamW(llama.parameters(), lr=1e-6, fused=fused) for fused in (True, False))
    tell("AdamW, fused", *milliseconds(several.step, one.step))


def sampling() -> None:
    """The next word of 32 responses with seeds of their own."""
    odds = torch.randn(32, WORDS).softmax(-1)
    seeds = [torch.Generator().manual_seed(seed) for seed in range(32)]

    def words() -> Any:
        noise = torch.empty_like(odds).exponential_()
        for row, seed in enumerate(seeds):
            noise[row].exponential_(generator=seed)
        return odds.div(noise).argmax(-1)

    tell(
        "a word of 32 seeded responses",
        *milliseconds(words, lambda: sampled(odds, torch.cat([torch.rand(1, generator=seed) for seed in seeds]))),
    )


def tell(what: str, without: float, with_it: float) -> None:
    """Print a row."""
    print(f"| {what} | {without:,.1f} | {with_it:,.1f} |", flush=True)


if __name__ == "__main__":
    print("| ms | without | with |\n|---|---|---|")
    messages()
    sampling()
    model()

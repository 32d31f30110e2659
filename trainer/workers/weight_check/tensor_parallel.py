"""Which part of a weight a worker of vLLM holds, where a model is spread over several (``--rollout_tp_size``).

vLLM's layers (vllm/model_executor/layers/linear.py, vocab_parallel_embedding.py) are known by their classes' names:
columns and joined weights are cut by rows, heads of keys and values are repeated where there are more workers than
heads, weights of rows are cut by columns, and vocabularies by words.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch


class Piece(NamedTuple):
    """What one worker holds of a weight."""

    rows: torch.Tensor
    first: int  # number of the first row in the whole weight
    shape: tuple[int, ...]  # of the whole weight
    workers: int = 1  # whose pieces make it whole; 1 where each worker has all of it

    @classmethod
    def whole(cls, weight: torch.Tensor) -> "Piece":
        """Return a weight that each worker has."""
        return cls(weight, 0, tuple(weight.shape))


def piece(module: torch.nn.Module, kind: str, weight: torch.Tensor) -> Piece:
    """Return what ``module`` holds of its parameter ``kind``, which is of one weight."""
    workers, rank = getattr(module, "tp_size", 1), getattr(module, "tp_rank", 0)
    words = getattr(module, "org_vocab_size", None)  # without those that pad it
    if workers == 1:
        return Piece.whole(weight[:words] if words else weight)
    if words:
        cut: Any = module.shard_indices
        return Piece(weight[: cut.num_org_elements], cut.org_vocab_start_index, (words, *weight.shape[1:]), workers)
    of_vllm = {each.__name__ for each in type(module).__mro__}
    if "ColumnParallelLinear" in of_vllm:
        return Piece(weight, rank * len(weight), (len(weight) * workers, *weight.shape[1:]), workers)
    if "RowParallelLinear" in of_vllm and kind == "weight":
        return Piece(weight, 0, (len(weight), weight.shape[1] * workers), workers)
    return Piece.whole(weight)


def joined(module: Any, weight: torch.Tensor) -> Iterator[Piece] | None:
    """Return what ``module`` holds of each weight that vLLM has joined in one; None where it does not say of which."""
    workers, rank = getattr(module, "tp_size", 1), getattr(module, "tp_rank", 0)
    sizes = [size // workers for size in getattr(module, "output_sizes", None) or ()]
    if not sizes or sum(sizes) != len(weight):
        return None
    copies = [getattr(module, "num_kv_head_replicas", 1) if number else 1 for number in range(len(sizes))]

    def pieces() -> Iterator[Piece]:
        for rows, size, times in zip(weight.split(sizes), sizes, copies, strict=True):
            if workers == 1:
                yield Piece.whole(rows)
                continue
            shape = (size * workers // times, *weight.shape[1:])
            # Of copies one counts.
            yield Piece(rows if rank % times == 0 else rows[:0], rank // times * size, shape, workers)

    return pieces()

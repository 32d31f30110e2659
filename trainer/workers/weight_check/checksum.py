"""A checksum of a weight that is the same however the weight is cut into rows or columns.

The sum over rows of ``odd number of the row * sum of the row's bits``, modulo 2**64: two processes that hold parts of a
weight add what they have. Bits are those of the type in which vLLM holds the weight. Of a large weight every n-th row
counts, other ones at each step, so that a check costs no more than a megabyte a weight.
"""

import math
from typing import NamedTuple

import torch

MOST_ROWS = 256
ODD = 0x9E3779B97F4A7C15  # of the golden ratio: rows that follow one another get numbers far apart
MODULUS = 1 << 64
BITS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}


class Sum(NamedTuple):
    """The checksum of a weight, or of a part; ``shape`` is that of the whole, ``dtype`` the type whose bits count.

    ``workers`` is of how many of vLLM's the parts make the whole; 1 where it is whole.
    """

    value: int
    shape: tuple[int, ...]
    dtype: str
    workers: int = 1


def of_rows(rows: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype, first: int = 0, step: int = 0) -> int:
    """Return the checksum of the rows from ``first`` of a weight.

    Args:
        rows: (n, ...), of a weight of ``shape`` (N, ...), or (n,) of one of (N,).
        shape: of the whole weight.
        dtype: the type whose bits count: a key of ``BITS``.
        first: number of the first of the rows.
        step: which of the rows of a large weight count.
    """
    stride = max(1, math.ceil(shape[0] / MOST_ROWS))
    start = (step - first) % stride
    picked = rows.detach()[start::stride]
    if not picked.numel():
        return 0
    bits = picked.to(dtype).contiguous().view(BITS[dtype]).reshape(len(picked), -1).to(torch.int64).sum(dim=1)
    numbers = range(first + start, first + len(rows), stride)
    values: list[int] = bits.tolist()
    return sum(_odd(number) * value for number, value in zip(numbers, values, strict=True)) % MODULUS


def _odd(number: int) -> int:
    return (number * ODD | 1) % MODULUS

"""Numbers that are not finite stop the run before they reach the weights."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

NAMED = 5  # samples named in the message; the saved batch has them all


class NonFiniteError(RuntimeError):
    """A reward, value or loss is NaN or infinite; the message names the samples and the saved batch."""


def rows_not_finite(values: torch.Tensor, mask: torch.Tensor | None = None) -> list[int]:
    """Return the rows of ``values``, (B, T), with a number that is not finite where ``mask`` is 1."""
    bad = ~torch.isfinite(values.detach())
    if mask is not None:
        bad = bad & mask.bool()
    return [int(row) for row in bad.reshape(len(bad), -1).any(dim=-1).nonzero().flatten()]


def save(folder: Path, name: str, batch: Mapping[str, Any]) -> Path:
    """Save ``batch`` with torch.save; return the file, which is whole or not there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.pt"
    partial = path.with_suffix(f".{os.getpid()}.partial")
    torch.save(
        {key: value.detach().cpu() if isinstance(value, torch.Tensor) else value for key, value in batch.items()},
        partial,
    )
    partial.replace(path)
    return path


def stop(what: str, rows: Sequence[int], ids: Sequence[str], folder: Path, name: str, batch: Mapping[str, Any]) -> None:
    """Save the batch and raise, where there are such rows.

    Raises:
        NonFiniteError: ``rows`` is not empty.
    """
    if not rows:
        return
    path = save(folder, name, {**batch, "ids": list(ids), "rows": list(rows)})
    samples = ", ".join(ids[row] for row in rows[:NAMED]) + (", ..." if len(rows) > NAMED else "")
    count = f"{len(rows)} sample{'s' * (len(rows) > 1)}"
    raise NonFiniteError(f"{what} not finite (NaN or infinite) for {count}: {samples}; the batch is saved in {path}")

"""From a data specification to the two parquet files that verl reads."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data import arith

COLUMNS = ("data_source", "prompt", "reward_model")


class DataError(ValueError):
    """A data file that verl could not use; the message says which, why and what to do."""


def prepare(data: str, val_data: str, cache: Path) -> tuple[Path, Path]:
    """Return the parquet files of the training and the held-out prompts.

    ``builtin:arith`` is written to ``cache`` if it is not there yet; a file of the user's is checked.

    Raises:
        DataError: a file is missing, or is not parquet in verl's format.
    """
    train = _builtin("train", cache) if data == "builtin:arith" else _checked(data)
    val = _checked(val_data) if val_data else _builtin("val", cache)
    return train, val


def _builtin(split: str, cache: Path) -> Path:
    path = cache / f"arith-{split}.parquet"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        pq.write_table(pa.Table.from_pylist(arith.rows(split)), part)
        part.rename(path)
    return path


def _checked(spec: str) -> Path:
    if spec.startswith("builtin:"):
        raise DataError(f"{spec}: there is no such built-in data; the one there is: builtin:arith")
    path = Path(spec).expanduser().resolve()
    if not path.is_file():
        raise DataError(f"{spec}: there is no such file; give a parquet file in verl's format, or builtin:arith")
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowInvalid, OSError):
        raise DataError(f"{spec}: not a parquet file; give one in verl's format, or builtin:arith") from None
    missing = [column for column in COLUMNS if column not in schema.names]
    if missing:
        raise DataError(f"{spec}: no column {', '.join(missing)}; verl's format has {', '.join(COLUMNS)}")
    return path


def data_sources(*paths: Path) -> set[str]:
    """Return the data sources that occur in parquet files."""
    return {name for path in paths for name in pq.read_table(path, columns=["data_source"])[0].unique().to_pylist()}


def row_count(path: Path) -> int:
    """Return the number of prompts in a parquet file."""
    return int(pq.read_metadata(path).num_rows)

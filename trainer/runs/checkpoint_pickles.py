"""What the pickles of a checkpoint would run, found without running them; and loading that runs nothing.

verl loads its files with ``torch.load(weights_only=False)``: what a pickle names is then called, be it ``os.system``.
``foreign`` reads each pickle with an unpickler for which every name is an empty class, and compares the names with
those that verl's files have. ``strict_loading`` makes torch itself refuse all others, for whatever reads the zip file
in another way than this module.
"""

import contextlib
import os
import pickle
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

ENV = "TRUST_CHECKPOINT"
FORCED = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"  # torch/serialization.py
PICKLES = {".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt", ".th", ".mar", ".joblib", ".npy", ".npz"}
REMEDY = "if you know where the checkpoint is from, and trust it with your account: --trust_checkpoint"
BEGINNINGS = tuple(bytes([byte]) for byte in b"\x80(]})cNKIFSVUX")  # of a pickle
LARGEST = 256 << 20  # bytes of a pickle without its tensors
# The names in what FSDP2, AdamW, verl's random state and torchdata's loader save: types, and functions that only build.
ALLOWED = re.compile(
    r"collections\.(OrderedDict|Counter|defaultdict)|builtins\.(set|frozenset|bytearray|complex|slice|dict|list|int)"
    r"|_codecs\.encode|torch\.(Size|device|bfloat16|bool|u?int\d+|float\d+\w*|complex\d+|\w+Storage)"
    r"|torch\.storage\.(Untyped|Typed)Storage|torch\.Tensor|torch\._C\.Generator|torch\.nn\.parameter\.Parameter"
    r"|torch\._utils\._rebuild_(tensor(_v[23])?|parameter(_with_state)?|wrapper_subclass|sparse_tensor"
    r"|meta_tensor_no_storage|nested_tensor|device_tensor_from_cpu_tensor)"
    r"|torch\._tensor\._rebuild_from_type_v2|torch\.serialization\._get_layout"
    r"|torch\.distributed\._mesh_layout\.(_Flat|_Mesh)Layout|torch\.distributed\.device_mesh\.DeviceMesh"
    r"|torch\.distributed\.tensor\.(DTensor|_api\.DTensor|_dtensor_spec\.(DTensorSpec|ShardOrderEntry|TensorMeta)"
    r"|placement_types\.(_StridedShard|Shard|Replicate|Partial))"
    r"|numpy\.(dtype|ndarray)|numpy\.(_core|core)\.multiarray\.(_reconstruct|scalar)|numpy\.dtypes\.\w+DType"
)


class ForeignPickleError(Exception):
    """A pickle that is not of this trainer's checkpoints; the message says why."""


class _Inert:
    """Stands for whatever a pickle names: takes everything, does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> "_Inert":
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take any arguments."""

    def __setstate__(self, _: Any) -> None:
        """Take any state."""

    def __setitem__(self, _: Any, __: Any) -> None:
        """Take any item."""

    def append(self, _: Any) -> None:
        """Take any element."""

    extend = add = update = append


class _Names(pickle.Unpickler):
    """Follows a pickle as Python would, with an inert class for each name that is allowed."""

    def find_class(self, module: str, name: str) -> Any:
        whole = f"{module}.{name}"
        if not ALLOWED.fullmatch(whole):
            raise ForeignPickleError(f"it names {whole[:120]!r}, which loading it would run")
        return type("Inert", (_Inert,), {})

    def persistent_load(self, _: Any) -> Any:
        return _Inert()  # a tensor's storage


def foreign(folder: Path) -> str:
    """Return what of a checkpoint is not a checkpoint's: a pickle with a foreign name, a link out of the folder.

    Returns:
        One line that names the file; empty where all is as this trainer saves it.
    """
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            return f"{path} is a link to {path.resolve()}, out of the checkpoint"
        if path.suffix.lower() in PICKLES and path.is_file():
            try:
                _look(path)
            except ForeignPickleError as error:
                return f"{path}: {error}"
    return ""


def _look(path: Path) -> None:
    if not zipfile.is_zipfile(path):
        _look_at_stream(path)
        return
    try:
        _Names(BytesIO(_pickle_of(path))).load()
    except ForeignPickleError:
        raise
    except Exception as error:  # whatever a pickle that is made to break an unpickler raises
        raise ForeignPickleError(f"it is no file of torch.save, or damaged ({type(error).__name__})") from None


def _look_at_stream(path: Path) -> None:
    """Look at the pickles of a file of another kind, as torch wrote them before 1.6: what is none, torch refuses."""
    with path.open("rb") as file:
        is_pickle, read = file.read(1) in BEGINNINGS, 0
        file.seek(0)
        try:
            while file.tell() < LARGEST:
                _Names(file).load()
                read += 1
        except ForeignPickleError:
            raise
        except Exception as error:  # the end of the pickles, or no pickle at all, or one that another reader may take
            if is_pickle and not read:
                raise ForeignPickleError(f"its pickle cannot be analysed ({type(error).__name__})") from None


def _pickle_of(path: Path) -> bytes:
    """Return the pickle in a file of torch.save: one zip archive, in which every reader finds the same."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        names = [entry.filename.lower() for entry in entries]
        pickles = [entry for entry in entries if entry.filename.lower().split("/")[-1] == "data.pkl"]
        scripts = [name for name in names if name.endswith("/constants.pkl") or "/code/" in name]
        with path.open("rb") as file:
            first = file.read(4)
        if len(pickles) != 1 or len(set(names)) != len(names) or scripts or first != b"PK\x03\x04" or archive.comment:
            raise ForeignPickleError("its archive is not as torch.save writes it")
        if pickles[0].compress_type != zipfile.ZIP_STORED or pickles[0].file_size > LARGEST:
            raise ForeignPickleError("its pickle is compressed or too large: not as torch.save writes it")
        return archive.read(pickles[0])


@contextlib.contextmanager
def strict_loading() -> Iterator[None]:
    """Have torch load nothing but tensors and the types of a checkpoint, unless ``--trust_checkpoint`` was given."""
    if os.environ.get(ENV) == "true":
        yield
        return
    import numpy as np
    import torch.distributed.tensor  # its types become known to torch as harmless
    from numpy._core import multiarray

    reconstruct: Any = multiarray._reconstruct  # type: ignore[attr-defined]
    dtypes: list[Any] = [
        type(np.dtype(name)) for name in ("uint8", "uint32", "uint64", "int32", "int64", "float32", "float64")
    ]
    old = (reconstruct, "numpy.core.multiarray._reconstruct")  # as numpy 1 has named it
    before = os.environ.get(FORCED)
    os.environ[FORCED] = "1"
    try:
        with torch.serialization.safe_globals([reconstruct, old, np.ndarray, np.dtype, *dtypes]):
            yield
    finally:
        if before is None:
            del os.environ[FORCED]
        else:
            os.environ[FORCED] = before

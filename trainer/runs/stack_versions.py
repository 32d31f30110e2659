"""The versions that wrote a checkpoint, and whether the torch that is here reads it.

torch pickles the layout of sharded weights by its own classes, which differ between its releases: what 2.11 wrote,
2.13 does not read, and the other way round. ``python -m trainer.runs.stack_versions CHECKPOINT`` tries.
"""

import importlib.metadata
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from trainer.runs import checkpoints
from trainer.runs.checkpoint_pickles import strict_loading

PACKAGES = ("torch", "verl", "transformers")


def installed() -> dict[str, str]:
    """Return the versions that are here, of the packages on which a checkpoint's files depend."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def unreadable(folder: Path) -> str:
    """Return why the files of a checkpoint cannot be read here, and what to do; empty where they can.

    Files of another release of torch are tried, in a process of its own; those that name no versions are not.

    Raises:
        ValueError: the checkpoint's mark cannot be read (``checkpoints.facts``).
    """
    written = checkpoints.facts(folder).get("versions")
    if not isinstance(written, dict) or _release(written) == _release(here := installed()):
        return ""
    command = [sys.executable, "-m", "trainer.runs.stack_versions", str(folder)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return ""
    cause = (tried.stdout.splitlines() or [f"exit status {tried.returncode}"])[-1]
    return (
        f"{folder} was written with {_named(written)}; here are {_named(here)}, which cannot read it ({cause}); "
        "name an environment with the former (VENV=/path/to/it), or export the model there and start from that: "
        "--model FOLDER"
    )


def _release(versions: Mapping[str, str]) -> tuple[str, ...]:
    """Return torch's major and minor version; no build, as 2.13.0+cpu and 2.13.1+cu130 read one another's files."""
    return tuple(str(versions.get("torch")).split("+")[0].split(".")[:2])


def _named(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {versions[name]}" for name in PACKAGES if name in versions)


def _read(folder: Path) -> None:
    """Load the files of the first rank, without their tensors' numbers, and look at the layouts."""
    import torch.distributed.tensor

    with strict_loading():
        for path in sorted(folder.glob("*/*_rank_0.pt")):
            state = torch.load(path, map_location="cpu", mmap=True)
            for value in state.values():
                if isinstance(value, torch.distributed.tensor.DTensor):
                    hash((value._spec, value.device_mesh.shape, value.device_mesh.mesh_dim_names))


if __name__ == "__main__":
    try:
        _read(Path(sys.argv[1]))
    except Exception as error:  # whatever an old class lacks
        print(type(error).__name__, str(error).splitlines()[0][:120].split(". ")[0], sep=": ")
        sys.exit(1)

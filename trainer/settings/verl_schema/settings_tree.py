"""verl's tree of settings under the kit's YAML files, composed by Hydra."""

import codecs
import contextlib
import functools
import importlib.util
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from reward.support import yaml_file
from trainer import ROOT
from trainer.user_error import UserError

OVERLAY = "ppo.yaml"
DEFAULTS = ("ppo_trainer", "device", "reward@_global_")  # what it is composed with
READ_BY_HYDRA = (OVERLAY, "device/cpu.yaml", "device/cuda.yaml", "reward/*.yaml")


def verl_config_folder() -> Path:
    """Return verl's folder of configurations, without importing verl."""
    spec = importlib.util.find_spec("verl")
    assert spec is not None and spec.origin is not None, "verl is not installed"
    return Path(spec.origin).parent / "trainer" / "config"


def compose_files(device: str, reward: str, overrides: tuple[str, ...]) -> DictConfig:
    """Compose the kit's YAML files over verl's, with a file of ``config/device`` and one of ``config/reward``."""
    choices = [f"hydra.searchpath=[file://{verl_config_folder()}]", f"device={device}", f"reward@_global_={reward}"]
    with _config_folder() as folder, initialize_config_dir(str(folder), version_base=None):
        return compose("ppo", overrides=[*choices, *overrides])


@contextlib.contextmanager
def _config_folder() -> Iterator[Path]:
    """Return the folder of the kit's YAML files, all of them sound; a copy where one has a byte order mark.

    Hydra reads a file's package from its first line, where it does not know such a mark.

    Raises:
        UserError: with what is wrong with each file.
    """
    folder, faults, marked = ROOT / "config", list[str](), False
    files = [path for part in READ_BY_HYDRA for path in sorted(folder.glob(part))]
    for path in files:
        try:
            content = yaml_file.read(path)
            if path.name == OVERLAY and (absent := _absent_defaults(content.get("defaults"))):
                faults.append(f"config/{OVERLAY}: its list `defaults` lacks {absent}; put that back")
            marked |= path.read_bytes().startswith(codecs.BOM_UTF8)
        except yaml_file.YamlFileError as error:
            faults.append(f"config/{path.relative_to(folder)}: not readable: {error}")
    if faults:
        raise UserError(*faults)
    if not marked:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="ppo-kit-config-") as copy:
        for path in files:
            target = Path(copy) / path.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes().removeprefix(codecs.BOM_UTF8))
        yield Path(copy)


def _absent_defaults(given: object) -> str:
    """Return what a list of Hydra's lacks of the files that every run is composed of."""
    entries = given if isinstance(given, list) else []
    names = {name for entry in entries for name in (entry if isinstance(entry, dict) else [entry])}
    return ", ".join(name for name in DEFAULTS if name not in names)


def tree() -> Mapping[str, object]:
    """Return every setting that there is by its dotted key, with its value before interpolation."""
    return _tree(ROOT)


@functools.cache
def _tree(_root: Path) -> Mapping[str, object]:
    keys: dict[str, object] = {}

    def walk(node: object, prefix: str) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                keys[f"{prefix}{key}"] = value
                walk(value, f"{prefix}{key}.")

    walk(OmegaConf.to_container(compose_files("cpu", "rule", ()), resolve=False), "")
    return keys

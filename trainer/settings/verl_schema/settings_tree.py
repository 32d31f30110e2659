"""verl's tree of settings under the kit's YAML files, composed by Hydra."""

import codecs
import contextlib
import functools
import importlib.util
import pickle
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import omegaconf._utils
import omegaconf.base
import omegaconf.resolvers.oc
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.grammar_parser import parse

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
    """Compose the kit's YAML files over verl's, with a file of ``config/device`` and one of ``config/reward``.

    It takes Hydra most of a second. A process that asks again, with the files as they were, gets a copy.
    """
    config: DictConfig = pickle.loads(_composed(device, reward, overrides, _state_of_files()))
    return config


@functools.lru_cache(maxsize=32)
def _composed(device: str, reward: str, overrides: tuple[str, ...], _state: tuple[object, ...]) -> bytes:
    choices = [f"hydra.searchpath=[file://{verl_config_folder()}]", f"device={device}", f"reward@_global_={reward}"]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_config_folder())
        for context in (initialize_config_dir(str(folder), version_base=None), _with_libyaml(), parsed_once()):
            stack.enter_context(context)
        return pickle.dumps(compose("ppo", overrides=[*choices, *overrides]))


def _files() -> list[Path]:
    """Return the kit's YAML files that Hydra reads."""
    return [path for part in READ_BY_HYDRA for path in sorted((ROOT / "config").glob(part))]


def _state_of_files() -> tuple[object, ...]:
    files = _files()
    states = [path.stat() if path.exists() else None for path in files]
    return (verl_config_folder(), *files, *((state.st_mtime_ns, state.st_size) if state else None for state in states))


@contextlib.contextmanager
def _with_libyaml() -> Iterator[None]:
    """Have OmegaConf load files with ``yaml_loader``."""
    omegaconf._utils.get_yaml_loader = yaml_loader
    try:
        yield
    finally:
        omegaconf._utils.get_yaml_loader = get_yaml_loader


@contextlib.contextmanager
def parsed_once() -> Iterator[None]:
    """Have OmegaConf parse each interpolation once a process: it takes two thirds of the time that resolving does."""
    readers = (omegaconf.base, omegaconf._utils, omegaconf.resolvers.oc)
    for module in readers:
        module.parse = parsed  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in readers:
            module.parse = parse  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=4096)
def parsed(value: str, parser_rule: str = "configValue", lexer_mode: str = "DEFAULT_MODE") -> Any:
    """Return a tree, which those who read it leave as it is."""
    return parse(value, parser_rule, lexer_mode)


def yaml_loader() -> Any:
    """Return OmegaConf's loader of YAML with libyaml's parser, where PyYAML has it: a quarter of the time."""
    of_omegaconf = get_yaml_loader()
    if not yaml.__with_libyaml__:
        return of_omegaconf
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    def start(self: Any, stream: Any) -> None:
        CParser.__init__(self, stream)
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)

    return type("Loader", (CParser, of_omegaconf), {"__init__": start})


@contextlib.contextmanager
def _config_folder() -> Iterator[Path]:
    """Return the folder of the kit's YAML files, all of them sound; a copy where one has a byte order mark.

    Hydra reads a file's package from its first line, where it does not know such a mark.

    Raises:
        UserError: with what is wrong with each file.
    """
    folder, files, faults, marked = ROOT / "config", _files(), list[str](), False
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
    return keys_of(OmegaConf.to_container(compose_files("cpu", "rule", ()), resolve=False))


def keys_of(tree: object) -> dict[str, object]:
    """Return every setting of a nested dictionary by its dotted key, sections too."""
    keys: dict[str, object] = {}

    def walk(node: object, prefix: str) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                keys[f"{prefix}{key}"] = value
                walk(value, f"{prefix}{key}.")

    walk(tree, "")
    return keys

"""From settings to the fully resolved configuration of verl: ``config/ppo.yaml`` over verl's ``ppo_trainer``."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from trainer import ROOT
from trainer.settings import UserError

OmegaConf.register_new_resolver("if", lambda test, yes, no: yes if test else no, replace=True)


def verl_config_folder() -> Path:
    """Return verl's folder of configurations, without importing verl."""
    spec = importlib.util.find_spec("verl")
    assert spec is not None and spec.origin is not None, "verl is not installed"
    return Path(spec.origin).parent / "trainer" / "config"


def resolve(environment: Mapping[str, str], overrides: tuple[str, ...] = ()) -> DictConfig:
    """Compose the configuration with ``environment`` as the env vars that the YAML files read.

    Raises:
        UserError: an override names a key that verl does not have, or does not parse.
    """
    arguments = [f"hydra.searchpath=[file://{verl_config_folder()}]", f"device={environment['DEVICE']}", *overrides]
    with _environment(environment), initialize_config_dir(str(ROOT / "config"), version_base=None):
        try:
            config = compose("ppo", overrides=arguments)
            OmegaConf.resolve(config)
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(_one_line(error, overrides)) from None
    return config


def _one_line(error: Exception, overrides: tuple[str, ...]) -> str:
    words = [word.strip() for word in str(error).splitlines() if word.strip()]
    text = words[0] if words else type(error).__name__
    cause = error.__cause__
    if isinstance(cause, OmegaConfBaseException) and cause.key is not None:
        text = f"{text} ({str(cause).splitlines()[0]})"
    return f"an override for verl ({' '.join(overrides)}): {text}"


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def write(config: DictConfig, path: Path) -> None:
    """Write ``config`` as the YAML file that verl is started with."""
    path.write_text(OmegaConf.to_yaml(config), encoding="utf-8")


def select(config: DictConfig, key: str) -> Any:
    """Return the value at a dotted ``key``; None where there is none."""
    return OmegaConf.select(config, key)

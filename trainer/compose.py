"""From settings to the fully resolved configuration of verl: ``config/ppo.yaml`` over verl's ``ppo_trainer``."""

import codecs
import contextlib
import functools
import importlib.util
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from reward import redact, yaml_file
from reward.secret import holds_secret
from reward.wording import OF_PYTHON, shown
from trainer import ROOT, config_check
from trainer.algorithm.faults import of_sampling, of_schedule
from trainer.knobs import AUTO, load_knobs
from trainer.settings import Settings, UserError, as_env
from trainer.shape import MICRO_BATCH_TOKENS, micro_batch

READ_BY_HYDRA = ("ppo.yaml", "device/cpu.yaml", "device/cuda.yaml", "reward/*.yaml")
# What comes up where a setting is missing, null or of another type.
READING = (HydraException, OmegaConfBaseException, AttributeError, TypeError, ValueError, LookupError, ArithmeticError)


def _micro_batch(mini_batch: int, *, _root_: DictConfig) -> int:
    """Fit the micro batch to what the rest of the configuration says, unless one was asked for."""
    asked = os.environ["MICRO_BATCH_SIZE"]
    if asked != "auto":
        return int(asked)
    trainer, data, actor = _root_.trainer, _root_.data, _root_.actor_rollout_ref.actor
    parallel = max(actor.ulysses_sequence_parallel_size, actor.fsdp_config.ulysses_sequence_parallel_size)
    return micro_batch(
        mini_batch,
        _root_.actor_rollout_ref.rollout.n,
        trainer.n_gpus_per_node * trainer.nnodes // parallel,
        data.max_prompt_length + data.max_response_length,
        trainer.device,
    )


def _pass_tokens(*, _root_: DictConfig) -> int:
    """Return the tokens that a pass without gradients may hold on one rank: what an update's pass is fitted to."""
    asked, length = os.environ["MICRO_BATCH_SIZE"], _tokens_of(1, _root_=_root_)
    return int(asked) * length if asked != "auto" else max(MICRO_BATCH_TOKENS[_root_.trainer.device], length)


def _tokens_of(samples: int, *, _root_: DictConfig) -> int:
    """Return the tokens of ``samples`` of full length."""
    return samples * (int(_root_.data.max_prompt_length) + int(_root_.data.max_response_length))


OmegaConf.register_new_resolver("if", lambda test, yes, no: yes if test else no, replace=True)
OmegaConf.register_new_resolver("listed", lambda word, words: bool({word, "all"} & set(words.split(","))), replace=True)
OmegaConf.register_new_resolver("micro_batch", _micro_batch, replace=True)
OmegaConf.register_new_resolver("pass_tokens", _pass_tokens, replace=True)
OmegaConf.register_new_resolver("tokens_of", _tokens_of, replace=True)
# What was given, or else what stands for auto and none.
OmegaConf.register_new_resolver("given", lambda value, other: other if value in (None, AUTO) else value, replace=True)


def verl_config_folder() -> Path:
    """Return verl's folder of configurations, without importing verl."""
    spec = importlib.util.find_spec("verl")
    assert spec is not None and spec.origin is not None, "verl is not installed"
    return Path(spec.origin).parent / "trainer" / "config"


def _compose(device: str, reward: str, overrides: tuple[str, ...]) -> DictConfig:
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
            yaml_file.read(path)
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


def tree() -> Mapping[str, object]:
    """Return every setting that there is by its dotted key, with its value before interpolation."""
    return _tree(ROOT)


@functools.cache
def _tree(_root: Path) -> Mapping[str, object]:
    found: dict[str, object] = {}

    def walk(node: object, prefix: str) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                found[f"{prefix}{key}"] = value
                walk(value, f"{prefix}{key}.")

    walk(OmegaConf.to_container(_compose("cpu", "rule", ()), resolve=False), "")
    return found


def resolve(environment: Mapping[str, str], settings: Settings) -> DictConfig:
    """Compose the configuration with ``environment`` as the env vars that the YAML files read.

    Raises:
        UserError: an override does not parse or contradicts a knob, or a knob was given that the YAML files no longer
            read.
    """
    with _environment(environment):
        try:
            config = _compose(settings.text("DEVICE"), settings.reward.kind, settings.overrides)
            OmegaConf.resolve(config)
        except READING as error:
            raise UserError(_one_line(error, settings.overrides)) from None
    with blaming(settings.overrides):
        faults = _unread_knobs(config, settings)
        faults += of_schedule(config.actor_rollout_ref.actor.optim, config.trainer.v1.ppo_kit.target_kl)
        faults += config_check.of_resolved(config, settings.overrides)
        faults += of_sampling(config.actor_rollout_ref.rollout, config.algorithm.rollout_correction.bypass_mode)
    if faults:
        raise UserError(*faults)
    return config


@contextlib.contextmanager
def blaming(overrides: tuple[str, ...]) -> Iterator[None]:
    """Tell what fails where the configuration is read as the fault of ``overrides``, if there are any.

    Raises:
        UserError: they leave out a setting that is read, or make it another kind of thing.
    """
    try:
        yield
    except READING as error:
        if not overrides:
            raise
        raise UserError(_one_line(error, overrides)) from error


def _one_line(error: Exception, overrides: tuple[str, ...]) -> str:
    """Return what is wrong, and at which setting, without the names of omegaconf's errors."""
    text = re.sub(r"^\w+ raised while resolving interpolation: ", "", str(error).strip()).strip('"')
    cause, text = error.__cause__, next(iter(text.splitlines()), "")
    if isinstance(cause, OmegaConfBaseException) and cause.key is not None:
        text = f"{text} ({str(cause).splitlines()[0]})"
    if not text or OF_PYTHON.search(text) or "not in struct" in text:
        key = getattr(error, "full_key", None)
        what = f"{key}, or what it is computed from," if key else "a setting that is read"
        text = f"{what} is missing, or of another type than is read"
    which = f"config/ or an override for verl ({shown(' '.join(overrides), 200)})" if overrides else "config/"
    return f"{which}: {shown(text, 300)}"


def _unread_knobs(config: DictConfig, settings: Settings) -> list[str]:
    """Numbers that a person gave and that do not arrive, as a YAML file holds a number of its own."""
    overridden = {word.lstrip("+~").split("=", 1)[0] for word in settings.overrides}
    faults = []
    for knob in load_knobs():
        wanted = settings.values[knob.env]
        if knob.env not in settings.given or knob.type not in ("int", "float") or not isinstance(wanted, int | float):
            continue
        for key in set(knob.key.split()) - overridden:
            found = select(config, key)
            if knob.env not in ("EPOCHS", "MICRO_BATCH_SIZE") and found not in (wanted, math.inf):  # inf: switched off
                faults.append(
                    f"--{knob.flag} {as_env(wanted)} does not reach verl, as config/*.yaml sets {key} to {found}; "
                    f"have it read ${{oc.decode:${{oc.env:{knob.env}}}}} again, or leave the flag out"
                )
    return faults


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
    """Write ``config`` as the YAML file that verl is started with.

    Raises:
        UserError: it holds a secret of the environment, or text that verl would take for an interpolation.
    """
    if faults := unfit(config):
        raise UserError(*faults)
    redact.write_text(path, OmegaConf.to_yaml(config))


def unfit(config: DictConfig) -> list[str]:
    """Return what keeps ``config`` from being written: secrets, and text that verl would take for an interpolation."""
    return list(_unfit(OmegaConf.to_container(config), ""))


def _unfit(node: Any, key: str) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _unfit(value, f"{key}.{name}" if key else str(name))
    elif isinstance(node, list):
        for value in node:
            yield from _unfit(value, key)
    elif isinstance(node, str):
        if "${" in node:
            yield f"{key}={node!r}: verl would take the ${{ in it for an interpolation; leave it out"
        if env := holds_secret(node):
            yield f"{key} holds the value of {env}: a secret stays in the environment, never in a file"


def select(config: DictConfig, key: str) -> Any:
    """Return the value at a dotted ``key``; None where there is none."""
    return OmegaConf.select(config, key)

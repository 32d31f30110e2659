"""From settings to the fully resolved configuration of verl: ``config/ppo.yaml`` over verl's ``ppo_trainer``."""

import contextlib
import importlib.util
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from reward.secret import secrets
from trainer import ROOT
from trainer.algorithm.faults import of_sampling, of_schedule
from trainer.knobs import AUTO, load_knobs
from trainer.settings import Settings, UserError, as_env
from trainer.shape import MICRO_BATCH_TOKENS, micro_batch


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
    with initialize_config_dir(str(ROOT / "config"), version_base=None):
        return compose("ppo", overrides=[*choices, *overrides])


def tree() -> dict[str, object]:
    """Return every setting that there is by its dotted key, with its value before interpolation."""
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
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(_one_line(error, settings.overrides)) from None
    faults = _unread_knobs(config, settings)
    faults += of_schedule(config.actor_rollout_ref.actor.optim, config.trainer.v1.ppo_kit.target_kl)
    faults += of_sampling(config.actor_rollout_ref.rollout, config.algorithm.rollout_correction.bypass_mode)
    if faults:
        raise UserError(*faults)
    return config


def _one_line(error: Exception, overrides: tuple[str, ...]) -> str:
    words = [word.strip() for word in str(error).splitlines() if word.strip()]
    text = words[0] if words else type(error).__name__
    cause = error.__cause__
    if isinstance(cause, OmegaConfBaseException) and cause.key is not None:
        text = f"{text} ({str(cause).splitlines()[0]})"
    return f"config/ or an override for verl ({' '.join(overrides)}): {text}"


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
    plain = OmegaConf.to_container(config)
    faults = list(_unfit(plain, ""))
    if faults:
        raise UserError(*faults)
    path.write_text(OmegaConf.to_yaml(config), encoding="utf-8")


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
        for env, secret in secrets():
            if secret in node:
                yield f"{key} holds the value of {env}: a secret stays in the environment, never in a file"


def select(config: DictConfig, key: str) -> Any:
    """Return the value at a dotted ``key``; None where there is none."""
    return OmegaConf.select(config, key)

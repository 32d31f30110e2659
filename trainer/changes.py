"""What of a configuration may change between a checkpoint and its continuation.

What the files of a checkpoint depend on may not: the shape of models and optimizers, and the order of the data. It is
written into each checkpoint. Everything else may, and is told.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trainer.knobs import load_knobs

SHAPE = "the model and the optimizer in the checkpoint have the shape that goes with it"
OPTIMIZER = "the optimizer in the checkpoint brings its own, so another would be of no effect"
ORDER = "the order of the data, and where in it the checkpoint is, depend on it"
SHARDS = "each rank has its own part of the checkpoint"
# Setting of verl -> why it must stay. A setting that stands for a file is compared by the file's name.
FIXED = {
    "trainer.n_gpus_per_node": SHARDS,
    "trainer.nnodes": SHARDS,
    "actor_rollout_ref.actor.fsdp_config.fsdp_size": SHARDS,
    "actor_rollout_ref.model.path": SHAPE,
    "actor_rollout_ref.model.lora_rank": SHAPE,
    "actor_rollout_ref.model.lora_alpha": SHAPE,
    "actor_rollout_ref.model.target_modules": SHAPE,
    "actor_rollout_ref.actor.strategy": SHAPE,
    "critic.model.path": SHAPE,
    "critic.enable": SHAPE,
    "algorithm.adv_estimator": SHAPE,
    **{
        f"{who}.optim.{name}": OPTIMIZER
        for who in ("actor_rollout_ref.actor", "critic")
        for name in ("optimizer", "lr", "betas", "weight_decay")
    },
    "data.train_files": ORDER,
    "data.train_batch_size": ORDER,
    "data.gen_batch_size": ORDER,
    "data.train_max_samples": ORDER,
    "data.max_prompt_length": ORDER,
    "data.filter_overlong_prompts": ORDER,
    "data.shuffle": ORDER,
    "data.seed": ORDER,
}
FILES = ("actor_rollout_ref.model.path", "critic.model.path", "data.train_files")
# What differs between any two launches, or follows from what is told.
UNTOLD = (
    *("trainer.resume", "trainer.default_local_dir", "trainer.rollout_data_dir", "trainer.validation_data_dir"),
    *("trainer.experiment_name", "trainer.val_before_train", "ray_kwargs", "critic.model.tokenizer_path"),
    "trainer.v1.ppo_kit.apart",  # which machines those are is told at each start
    "actor_rollout_ref.rollout.agent.agent_loop_config_path",
)
WIDEST = 40  # characters of a value


def flat(node: Any, prefix: str = "") -> dict[str, Any]:
    """Return a configuration by dotted keys."""
    if not isinstance(node, Mapping):
        return {prefix: node}
    found: dict[str, Any] = {}
    for key, value in node.items():
        found |= flat(value, f"{prefix}.{key}" if prefix else str(key))
    return found


def of_checkpoint(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is written into each checkpoint of a run: all of ``FIXED`` that ``config`` has."""
    settings = flat(config)
    return {key: settings[key] for key in FIXED if key in settings}


def refused(saved: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Say of each setting that must stay how it changed: ``saved`` is what the checkpoint holds."""
    now, flags, said = flat(config), _flags(), set[str]()
    for key, why in FIXED.items():
        if key not in saved or key not in now or _same(key, saved[key], now[key]):
            continue
        name = flags.get(key, key)
        if name in said or (key == "algorithm.adv_estimator" and "gae" not in (saved[key], now[key])):
            continue  # one knob may set two keys; reinforce and grpo both go without a critic
        said.add(name)
        yield f"{name} was {_text(key, saved[key])} and is {_text(key, now[key])} now: {why}"


def told(before: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """Return the settings that changed and may, as ``--name old -> new``."""
    old, new, flags = flat(before), flat(config), _flags()
    found: dict[str, str] = {}
    for key in sorted(old.keys() | new.keys()):
        if key in FIXED or key.startswith(UNTOLD) or old.get(key) == new.get(key):
            continue
        name, values = flags.get(key, key), [str(old.get(key)), str(new.get(key))]
        short = max(map(len, values)) <= WIDEST
        found.setdefault(name, f"{name} {' -> '.join(values)}" if short else f"{name} is another")
    return list(found.values())


def _same(key: str, before: Any, now: Any) -> bool:
    if key in FILES and isinstance(before, str) and isinstance(now, str):
        return Path(before).name == Path(now).name  # another folder of outputs, or a copy of a model of the hub
    return bool(before == now)


def _text(key: str, value: Any) -> str:
    return Path(value).name if key in FILES and isinstance(value, str) else str(value)


def _flags() -> dict[str, str]:
    """Return the flag of each of verl's settings that a knob sets."""
    return {key: f"--{knob.flag}" for knob in load_knobs() for key in knob.key.split()}

"""The overlay on verl's configuration."""

from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from data import models
from trainer import ROOT, compose, launch
from trainer.knobs import load_knobs
from trainer.preflight import Plan, micro_batch
from trainer.settings import UserError, read_settings

# Keys of ours that verl's dataclasses take and its YAML files do not list.
NOT_IN_VERLS_YAML = {
    "actor_rollout_ref.actor.fsdp_config.mixed_precision": "workers/config/engine.py, FSDPEngineConfig",
    "actor_rollout_ref.ref.fsdp_config.mixed_precision": "workers/config/engine.py, FSDPEngineConfig",
    "critic.fsdp.mixed_precision": "workers/config/engine.py, FSDPEngineConfig",
    "actor_rollout_ref.rollout.enable_sleep_mode": "workers/config/rollout.py, RolloutConfig",
    "actor_rollout_ref.model.override_config.attn_implementation": "workers/config/model.py, HFModelConfig",
    "critic.model.override_config.attn_implementation": "workers/config/model.py, HFModelConfig",
    "ray_kwargs.ray_init": "arguments of ray.init",
}


def resolved(model: Path, gpus: int, *overrides: str, **environ: str) -> DictConfig:
    settings = read_settings({"MODEL_PATH": str(model), **environ}, overrides, gpus)
    plan = Plan(
        models.find(str(model), Path("unused"), 1, print),
        Path("train.parquet"),
        Path("val.parquet"),
        micro_batch(settings),
        steps_per_epoch=30,
        bucket_mb=64,
    )
    run = launch.Run("run", Path("runs/run"), Path("checkpoints/run"))
    return compose.resolve(launch.environment(settings, plan, run, Path("tmp")), settings.overrides)


def leaves(node: DictConfig, prefix: str = "") -> set[str]:
    keys = set()
    for key in node:
        value = node._get_node(key)
        name = f"{prefix}{key}"
        keys |= leaves(value, f"{name}.") if isinstance(value, DictConfig) and len(value) else {name}
    return keys


@pytest.mark.parametrize("name", ["ppo", "device/cpu", "device/cuda", "reward/rule"])
def test_every_key_exists_in_verl(name) -> None:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    with initialize_config_dir(str(compose.verl_config_folder()), version_base=None):
        theirs = hydra_compose("ppo_trainer")
    ours = OmegaConf.load(ROOT / "config" / f"{name}.yaml")
    ours.pop("defaults", None)
    unknown = {
        key
        for key in leaves(ours)
        if not any(key == known or key.startswith(f"{known}.") for known in NOT_IN_VERLS_YAML)
        and not _exists(theirs, key)
    }
    assert unknown == set()


def _exists(config: DictConfig, key: str) -> bool:
    *parents, last = key.split(".")
    for parent in parents:
        config = config._get_node(parent)
        if not isinstance(config, DictConfig):
            return False
    return config._get_node(last) is not None


@pytest.mark.parametrize(("gpus", "device"), [(0, "cpu"), (1, "cuda"), (8, "cuda")])
@pytest.mark.parametrize("lora", ["0", "8"])
def test_it_passes_verls_own_checks(small_model, gpus, device, lora) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config = resolved(small_model, gpus, LORA_RANK=lora)
    assert config.trainer.device == device
    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    for part in (config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout, config.critic, config.algorithm):
        omega_conf_to_dataclass(part)


def test_the_written_file_is_the_whole_truth(small_model, tmp_path) -> None:
    config = resolved(small_model, 0)
    compose.write(config, tmp_path / "config.yaml")
    again = OmegaConf.load(tmp_path / "config.yaml")
    assert again == config
    assert "${" not in (tmp_path / "config.yaml").read_text()


def test_each_knob_reaches_the_keys_that_the_table_names(small_model) -> None:
    """With a value that is not its default, through the environment alone."""
    odd = {"choice": {"DTYPE": "bfloat16", "DEVICE": "cpu"}, "list": {"LOGGER": "tensorboard"}}
    numbers = {"int": "2", "float": "0.31"}
    by_the_plan = {"MODEL_PATH", "DATA", "VAL_DATA", "OUTPUT_DIR", "DEVICE", "MICRO_BATCH_SIZE", "RUN_NAME", "EPOCHS"}
    for knob in load_knobs():
        if knob.env in by_the_plan:
            continue
        text = odd.get(knob.type, {}).get(knob.env) or numbers[knob.type]
        extra = {"BATCH_SIZE": "2", "MINI_BATCH_SIZE": "2"} if knob.env.endswith("BATCH_SIZE") else {}
        extra |= {"N_GPUS": "2"} if knob.env == "ROLLOUT_TP_SIZE" else {}
        config = resolved(small_model, 0, **{**extra, knob.env: text})
        for key in knob.key.split():
            value = compose.select(config, key)
            assert value in (knob.parse(text), ["tensorboard", "file"]) or value["param_dtype"] == text, key


def test_overrides_come_last(small_model) -> None:
    config = resolved(small_model, 0, "actor_rollout_ref.actor.optim.lr=3e-3", LR="1e-5")
    assert config.actor_rollout_ref.actor.optim.lr == 3e-3


def test_lora_as_an_override_loads_the_base_weights_into_vllm(small_model) -> None:
    assert resolved(small_model, 0).actor_rollout_ref.rollout.load_format == "dummy"
    config = resolved(small_model, 0, "actor_rollout_ref.model.lora_rank=8")
    assert config.actor_rollout_ref.rollout.load_format == "safetensors"


def test_no_kl_no_reference_policy(small_model) -> None:
    from verl.trainer.ppo.utils import need_reference_policy

    assert need_reference_policy(resolved(small_model, 0))
    assert not need_reference_policy(resolved(small_model, 0, KL_COEF="0"))


@pytest.mark.parametrize("override", ["trainer.nope=1", "actor_rollout_ref.actor.optim.lrr=1", "trainer.x=[1"])
def test_an_override_that_verl_does_not_know(small_model, override) -> None:
    with pytest.raises(UserError) as error:
        resolved(small_model, 0, override)
    assert len(error.value.faults) == 1
    assert override in error.value.faults[0]


def test_steps_end_the_run_and_not_the_data(small_model) -> None:
    """More steps than one pass over the data has: verl would stop at its end, with nothing saved."""
    config = resolved(small_model, 0, TOTAL_STEPS="70")
    assert (config.trainer.total_training_steps, config.trainer.total_epochs) == (70, 3)

"""What a choice of a person's brings with it in verl's configuration."""

import math
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from data import models
from tests.support.composing import resolved
from trainer.composition import compose, config_environment
from trainer.composition.run_plan import RunPlan
from trainer.runs import folders
from trainer.settings.batch_shape import Shape
from trainer.settings.batch_shape_rules import shape_faults
from trainer.settings.knobs import load_knobs
from trainer.settings.settings import read_settings
from trainer.settings.verl_schema import settings_tree
from trainer.user_error import UserError

pytestmark = pytest.mark.any_versions


# What needs another flag beside it, whatever a model's defaults are; what begins with RM_ needs a judge or a model.
NEEDS_MORE = {
    ("ADV_ESTIMATOR", "grpo"), ("REWARD_NORM", "group"), ("REWARD_SHIFT", "true"), ("REWARD_SCALE", "true"),
    ("KEEP_BEST", "audit"),
}  # fmt: skip


def choices() -> list[tuple[str, str]]:
    """Return each value of each knob that has few."""
    values = {
        knob.env: ("true", "false") if knob.type == "switch" else knob.allowed.split("|")
        for knob in load_knobs()
        if knob.type in ("switch", "choice", "switch_or_choice")
        if not knob.env.startswith("RM_") and knob.env not in ("USE_API_REWARD", "DRY_RUN", "DEVICE")
    }
    return [(env, value) for env, allowed in values.items() for value in allowed if (env, value) not in NEEDS_MORE]


@pytest.mark.parametrize(("env", "value"), choices())
def test_no_choice_is_refused_for_a_default_that_nobody_chose(small_model, env, value) -> None:
    given = {env: value}
    resolved(small_model, 0, name="builtin:smollm2", **given)
    for base in ({"MODEL_PATH": "builtin:tiny"}, {"ENV_NAME": "frozenlake"}, {"TOOLS": "calculator"}):
        read_settings(base | given, [], gpus=0)


def test_lora_as_an_override_loads_the_base_weights_into_vllm(small_model) -> None:
    assert resolved(small_model, 0).actor_rollout_ref.rollout.load_format == "dummy"
    config = resolved(small_model, 0, "actor_rollout_ref.model.lora_rank=8")
    assert config.actor_rollout_ref.rollout.load_format == "safetensors"


def test_no_kl_no_reference_policy(small_model) -> None:
    from verl.trainer.ppo.utils import need_reference_policy

    assert need_reference_policy(resolved(small_model, 0))
    assert not need_reference_policy(resolved(small_model, 0, KL_COEF="0"))


def test_a_raw_batch_is_followed_by_what_depends_on_it(small_model) -> None:
    """The micro batch is fitted to the sizes that verl gets, not to the knobs."""
    sizes = (
        "data.train_batch_size=48",
        "actor_rollout_ref.actor.ppo_mini_batch_size=24",
        "critic.ppo_mini_batch_size=12",
    )
    config = resolved(small_model, 0, *sizes)
    assert config.data.train_batch_size == 48
    assert config.actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu == 24
    assert config.critic.ppo_micro_batch_size_per_gpu == 12
    wrong = resolved(small_model, 0, "actor_rollout_ref.actor.ppo_mini_batch_size=500")
    assert shape_faults(Shape.of_config(wrong)) == [
        "--mini_batch_size 500 is larger than --batch_size 32; lower one or raise the other"
    ]


def test_resume(small_model) -> None:
    assert resolved(small_model, 0).trainer.resume_mode == "disable"
    config = resolved(small_model, 0, RESUME="old")
    assert config.trainer.resume_mode == "resume_path"
    assert config.trainer.resume_from_path == "checkpoints/old/global_step_7"


def test_steps_end_the_run_and_not_the_data(small_model) -> None:
    """More steps than one pass over the data has: verl would stop at its end, with nothing saved."""
    config = resolved(small_model, 0, TOTAL_STEPS="70")
    assert (config.trainer.total_training_steps, config.trainer.total_epochs) == (70, 3)


def test_an_epoch_more_where_the_prompts_are_estimated(small_model) -> None:
    """Verl leaves out what is too long of all prompts, of which the kit measures a sample."""
    settings = read_settings({"MODEL_PATH": str(small_model), "EPOCHS": "2", "TOTAL_STEPS": "auto"}, [], gpus=0)
    found = models.find_or_make(str(small_model), Path("unused"), 1, print)
    plan = RunPlan(found, Path("a"), Path("b"), (3200, 256), 64, exact=False)
    run = folders.Run("run", Path("runs/run"), Path("checkpoints/run"))
    config = compose.resolve(config_environment.of_config(settings, plan, run, Path("tmp")), settings)
    assert (config.trainer.total_training_steps, config.trainer.total_epochs) == (200, 3)


def test_the_algorithms_defaults_are_verls(small_model) -> None:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    from trainer.algorithm.options import AlgorithmOptions

    with initialize_config_dir(str(settings_tree.verl_config_folder()), version_base=None):
        theirs = hydra_compose("ppo_trainer")
    ours = resolved(small_model, 8)
    ours_alone = {"use_kl_in_reward", "lam"}  # the kit's defaults since its first slice: KL_COEF, GAE_LAMBDA
    for part in ("algorithm", "actor_rollout_ref.actor", "critic"):
        for key, value in OmegaConf.select(theirs, part).items():
            if key.startswith(("clip", "kl_", "loss_", "entropy", "use_kl", "adv", "gamma")) and key not in ours_alone:
                assert compose.select(ours, part)[key] == value, (part, key)
    assert AlgorithmOptions.of(ours) == AlgorithmOptions()


def test_none_and_off(small_model) -> None:
    config = resolved(small_model, 0, CLIPRANGE_VALUE="none", DUAL_CLIP="false", ADVANTAGE_CLIP="2", CLIP_RATIO="0.3")
    assert config.critic.cliprange_value == math.inf
    assert config.actor_rollout_ref.actor.clip_ratio_c == math.inf
    assert config.actor_rollout_ref.actor.clip_ratio_low == 0.3
    assert config.trainer.v1.ppo_kit.advantage_clip == 2
    assert config.trainer.v1.ppo_kit.reward_clip is None


@pytest.mark.parametrize("estimator", ["gae", "reinforce", "grpo"])
def test_a_critic_only_where_one_is_needed(small_model, estimator) -> None:
    from verl.trainer.ppo.utils import need_critic

    config = resolved(small_model, 0, ADV_ESTIMATOR=estimator, ROLLOUT_N="2")
    assert need_critic(config) == (estimator == "gae")


def test_an_early_stop_of_the_update_epochs_needs_a_constant_learning_rate(small_model) -> None:
    knobs = {"TARGET_KL": "0.02", "PPO_EPOCHS": "4"}
    assert resolved(small_model, 0, **knobs).trainer.v1.ppo_kit.target_kl == 0.02
    for schedule in ("lr_scheduler_type=cosine", "lr_warmup_steps=5", "lr_warmup_steps_ratio=0.1"):
        with pytest.raises(UserError, match="--target_kl needs a constant learning rate"):
            resolved(small_model, 0, f"actor_rollout_ref.actor.optim.{schedule}", **knobs)

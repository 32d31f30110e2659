"""Which name a mistyped one stands for: the one measure behind every ``did you mean``."""

import subprocess

import pytest

from reward.support.nearest import did_you_mean, nearest
from trainer import ROOT
from trainer.settings.knobs import load_knobs
from trainer.settings.settings import read_settings
from trainer.user_error import UserError

FLAGS = [knob.flag for knob in load_knobs()]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("bacth_size", "batch_size"),
        ("batchsize", "batch_size"),
        ("BATCH-SIZE", "batch_size"),
        ("LR", "lr"),
        ("gpus", "n_gpus"),
        ("temprature", "rollout_temperature"),
        ("output", "output_dir"),
        ("num_epochs", "epochs"),
        ("reward_function", "reward_fn"),
        ("envs", "env"),
        ("modle", "model"),
        ("lambda", "gae_lambda"),
        ("verbose", ""),
        ("q", ""),
        ("", ""),
        ("q" * 5000, ""),
    ],
)
def test_the_nearest_flag(typed, meant) -> None:
    assert nearest(typed, FLAGS) == [meant] * bool(meant)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("composit_reward", "a composite is switched on in config/reward_model_config.yaml"),
        ("model_path", "that of RLinf is --model here"),
        ("no_dualclip", "did you mean --no_dual_clip?"),
        ("composite_reward", "a composite is switched on in config/reward_model_config.yaml"),
        ("verbose", "./train.sh --help lists them all"),
    ],
)
def test_what_is_said_of_a_flag_that_there_is_none_of(typed, says) -> None:
    with pytest.raises(UserError) as error:
        read_settings({"KIT_UNKNOWN": typed}, [], gpus=0)
    (fault,) = error.value.faults
    assert fault.startswith(f"--{typed}: there is no such flag; {says}")


def test_what_is_nearest_comes_first() -> None:
    assert nearest("batch_siz", ["mini_batch_size", "batch_size", "lr"], 3) == ["batch_size", "mini_batch_size"]
    assert did_you_mean("aple", ["pear", "apple"], "--{}") == "did you mean --apple?"
    assert did_you_mean("aple", ["pear"]) == ""


def test_there_is_one_measure() -> None:
    """A second one would suggest other names for the same mistake."""
    command = ["git", "grep", "-l", "difflib", "--", "trainer", "reward", "data", "environments"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    assert files in ([], ["reward/support/nearest.py"])  # none where there is no git

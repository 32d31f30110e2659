"""``target_kl`` of other frameworks, which is not ``--target_kl``."""

import pytest

from trainer.algorithm.conflicts import mistaken_names
from trainer.settings.settings import read_settings
from trainer.user_error import UserError

ADAPTIVE = {"KL_CTRL": "adaptive", "PPO_EPOCHS": "2"}


def test_a_target_beside_the_adaptive_weight_is_taken_for_another_frameworks() -> None:
    def told(**environ: str) -> str:
        settings = read_settings({**environ}, [], gpus=0)
        return mistaken_names(settings.values, settings.explicit)

    assert told(**ADAPTIVE, TARGET_KL="0.05").startswith(
        "--target_kl 0.05 ends the updates of a step early; --kl_ctrl "
    )
    assert told(**ADAPTIVE, TARGET_KL="0.05", KL_TARGET="0.1") == ""
    assert told(**ADAPTIVE, TARGET_KL="none") == ""
    assert told(**ADAPTIVE) == ""
    assert told(PPO_EPOCHS="2", TARGET_KL="0.05") == ""


def test_the_refusal_names_the_other_knob() -> None:
    with pytest.raises(UserError, match=r"take --ppo_epochs 2 or more \(ROLL's target_kl is --kl_target, with --kl_ct"):
        read_settings({"TARGET_KL": "0.1", "MODEL_PATH": "x/y"}, [], gpus=8)

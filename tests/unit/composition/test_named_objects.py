"""Files of config/ that are sound by themselves, and name what is not there or cannot be worked out."""

import shutil

import pytest

from tests.attacks import bad_input_accepted as table
from tests.support import refusals
from tests.support.composing import resolved
from trainer import ROOT
from trainer.settings.verl_schema import settings_tree
from trainer.user_error import UserError

JUDGE = {"USE_API_REWARD": "true", "RM_API_TYPE": "openai", "RM_MODEL": "m", "OPENAI_API_KEY": "k" * 20}

REWARDS = {"rule": {}, "judge": JUDGE, "function": {"REWARD_FN": "reward.score:histogram"}}


@pytest.mark.parametrize(("file", "reward", "old", "new", "said"), table.RESOLVED)
def test_what_a_file_of_config_names_is_looked_for(
    file, reward, old, new, said, small_model, tmp_path, monkeypatch
) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    monkeypatch.setattr(settings_tree, "ROOT", tmp_path)
    for name, value in JUDGE.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError) as caught:
        resolved(small_model, 0, **REWARDS[reward])
    assert any(said in fault for fault in caught.value.faults), caught.value.faults
    assert refusals.wrong_in_lines(list(caught.value.faults)) == []


@pytest.mark.parametrize("role", ["actor_rollout_ref.actor.ppo", "actor_rollout_ref.rollout.log_prob"])
def test_a_micro_batch_is_wanted(role, small_model) -> None:
    from trainer.settings.batch_shape import Shape
    from trainer.settings.batch_shape_rules import shape_faults

    config = resolved(small_model, 0, f"{role}_micro_batch_size_per_gpu=null")
    assert any(
        f"{role}_micro_batch_size_per_gpu=null: a number" in line for line in shape_faults(Shape.of_config(config))
    )

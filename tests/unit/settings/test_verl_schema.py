"""What verl's settings may be is read from files that verl ships: they are what Hydra composes."""

import copy
import shutil

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from trainer import ROOT
from trainer.settings.verl_schema import choices, settings_tree, types
from trainer.user_error import UserError


def test_the_file_that_verl_ships_is_what_hydra_composes() -> None:
    with initialize_config_dir(str(settings_tree.verl_config_folder()), version_base=None):
        composed = OmegaConf.to_container(compose("ppo_trainer"), resolve=False)
    shipped = copy.deepcopy(dict(types.tree()))
    del shipped["trainer"]["v1"]["ppo_kit"]  # the kit's own
    assert isinstance(composed, dict)
    assert shipped.keys() == composed.keys()
    for section in shipped:
        assert shipped[section] == composed[section], section


def test_reward_managers_are_those_that_verl_registers() -> None:
    from verl.experimental.reward_loop.reward_manager.registry import REWARD_MANAGER

    assert set(choices.reward_managers()) == REWARD_MANAGER.keys()


@pytest.mark.parametrize(
    ("content", "absent"),
    [("", "ppo_trainer, device, reward@_global_"), ("defaults: [ppo_trainer, {device: cpu}]\n", "reward@_global_")],
)
def test_an_overlay_that_is_not_composed_with_anything(content, absent, tmp_path, monkeypatch) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "config" / "ppo.yaml").write_text(content)
    monkeypatch.setattr(settings_tree, "ROOT", tmp_path)
    with pytest.raises(UserError) as caught:
        settings_tree.compose_files("cpu", "rule", ())
    assert caught.value.faults == (f"config/ppo.yaml: its list `defaults` lacks {absent}; put that back",)

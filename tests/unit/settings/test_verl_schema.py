"""What verl's settings may be is read from files that verl ships: they are what Hydra composes."""

import copy

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from trainer.settings.verl_schema import choices, settings_tree, types


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

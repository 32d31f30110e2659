"""What verl's settings may be is read from files that verl ships: they are what Hydra composes."""

import copy
import shutil

import omegaconf.base
import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.grammar_parser import parse

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


FILES = [*settings_tree.verl_config_folder().rglob("*.yaml"), *(ROOT / "config").rglob("*.yaml")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_libyaml_reads_each_file_as_omegaconf_does(path) -> None:
    text = path.read_text(encoding="utf-8")
    assert repr(yaml.load(text, settings_tree.yaml_loader())) == repr(yaml.load(text, get_yaml_loader()))


def test_libyaml_keeps_to_omegaconfs_rules() -> None:
    """Of numbers and dates, which are not PyYAML's, and of keys that stand twice."""
    text = "[1e-6, 1_0.5, 2026-01-01, 12:30, off, ~, .inf, 0x1f, '1', !!float 1]"
    read = yaml.load(text, settings_tree.yaml_loader())
    assert repr(read) == repr(yaml.load(text, get_yaml_loader()))
    assert read[:3] == [1e-6, 10.5, "2026-01-01"]
    with pytest.raises(yaml.constructor.ConstructorError, match="found duplicate key a"):
        yaml.load("{a: 1, a: 2}", settings_tree.yaml_loader())


def test_what_is_composed_again_is_as_new(tmp_path, monkeypatch) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.setattr(settings_tree, "ROOT", tmp_path)
    first = settings_tree.compose_files("cpu", "rule", ())
    first.ray_kwargs.timeline_json_file = "first.json"
    assert settings_tree.compose_files("cpu", "rule", ()).ray_kwargs.timeline_json_file is None
    path = tmp_path / "config" / "ppo.yaml"
    path.write_text(path.read_text().replace("\nray_kwargs:\n", "\nray_kwargs:\n  timeline_json_file: here.json\n"))
    assert settings_tree.compose_files("cpu", "rule", ()).ray_kwargs.timeline_json_file == "here.json"


def test_an_interpolation_is_parsed_once_a_process(monkeypatch) -> None:
    before = settings_tree.parsed.cache_info()
    for number in ("100001", "100002"):
        monkeypatch.setenv("ONCE", number)
        once = "${oc.decode:${oc.env:ONCE}}"
        config = OmegaConf.create({"a": once, "b": "${a}", "c": once})
        with settings_tree.parsed_once():
            OmegaConf.resolve(config)
        assert config == {"a": int(number), "b": int(number), "c": int(number)}
    after = settings_tree.parsed.cache_info()
    assert after.hits > before.hits
    assert after.misses - before.misses <= 4  # two interpolations, and what one of them came to
    assert omegaconf.base.parse is parse

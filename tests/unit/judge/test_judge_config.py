"""The judge's configuration, its command line, and everything that is said before anything starts."""

import dataclasses
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reward.judge.config import FLAGS, ConfigError, JudgeConfig, JudgeFile, load, unpriced
from reward.judge.providers import Endpoint
from tests.support.judge_server import KEY, Asked, JudgeServer, judge_of_sums
from trainer import ROOT
from trainer.checks import judge
from trainer.settings.knobs import load_knobs, with_trait
from trainer.settings.reward_config import RewardChoice
from trainer.settings.settings import read_settings

SHIPPED = ROOT / "config" / "api_reward_config.yaml"


def written(folder: Path, **values: Any) -> Path:
    file = folder / "api_reward_config.yaml"
    file.write_text(yaml.safe_dump(values, allow_unicode=True))
    return file


def faults(folder: Path, flags: dict[str, Any] | None = None, **values: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(written(folder, **values), flags or {})
    return caught.value.faults


def test_the_file_that_ships_says_the_defaults_and_all_of_them() -> None:
    found = yaml.safe_load(SHIPPED.read_text())
    assert found.keys() == {field for field in JudgeConfig.__dataclass_fields__ if field not in ("run", "resumed")}
    shipped = load(SHIPPED, {})
    default = JudgeConfig(prices=shipped.prices, cache="auto")
    assert shipped == default
    assert {"qwen-plus", "gpt-4o-mini", "gemini-1.5-flash", "claude-3-haiku-20240307"} <= shipped.prices.keys()


def test_knobs_and_file_have_the_same_defaults() -> None:
    knobs = {knob.env: knob for knob in load_knobs()}
    assert {env for env in knobs if env.startswith("RM_")} - with_trait("reward_model") == judge.FIELDS.keys()
    assert {field: f"--{knobs[env].flag}" for env, field in judge.FIELDS.items()} == FLAGS
    for env, field in judge.FIELDS.items():
        default = knobs[env].parse(knobs[env].default) if knobs[env].default else ""
        assert default == getattr(load(SHIPPED, {}), field), env


def test_flags_win_over_the_file(tmp_path) -> None:
    file = written(tmp_path, api_type="openai", model="a", base_url="http://127.0.0.1:1/v1", scale="0-5")
    environ = {"USE_API_REWARD": "1", "RM_MODEL": "b", "RM_SCORING_PROMPT": r"{prompt}\n{response}"}
    found = judge.config(read_settings(environ, [], gpus=0), file)
    assert (found.api_type, found.model, found.base_url) == ("openai", "b", "http://127.0.0.1:1/v1")
    assert (found.scale, found.scoring_prompt) == ("0-5", "{prompt}\n{response}")
    assert found.cache.endswith("outputs/cache/judge.sqlite")


def test_another_provider_does_not_get_the_files_address(tmp_path) -> None:
    file = written(tmp_path, api_type="openai", model="a", base_url="http://127.0.0.1:1/v1")
    environ = {"USE_API_REWARD": "1", "RM_API_TYPE": "claude", "RM_MODEL": "c"}
    found = judge.config(read_settings(environ, [], gpus=0), file)
    assert (found.api_type, found.model, found.base_url) == ("claude", "c", "")


@pytest.mark.parametrize(
    ("values", "start"),
    [
        ({"api_typ": "openai"}, "config/api_reward_config.yaml: there is no api_typ; did you mean api_type?"),
        (
            {"api_type": "mistral"},
            "config/api_reward_config.yaml: api_type: there is no provider 'mistral'; there are d",
        ),
        ({"api_type": "openai"}, "config/api_reward_config.yaml: model: which one?"),
        ({"model": "m\x1b[2J"}, "config/api_reward_config.yaml: model: it has characters that cannot be printed"),
        ({"model": "m\nready"}, "config/api_reward_config.yaml: model: it has characters that cannot be printed"),
        (
            {"prompt_preset": "maths"},
            "config/api_reward_config.yaml: prompt_preset: 'maths': allowed: general, math, co",
        ),
        ({"scale": "10-1"}, "config/api_reward_config.yaml: scale: '10-1' is no scale: the worst score must be below"),
        ({"scale": 5}, "config/api_reward_config.yaml: scale: 5: a text is wanted, in quotes"),
        ({"concurrency": 0}, "config/api_reward_config.yaml: concurrency: 0: a whole number of 1 or more is wanted"),
        ({"attempts": True}, "config/api_reward_config.yaml: attempts: true: a whole number of 1 or more is wanted"),
        ({"timeout": "1m"}, "config/api_reward_config.yaml: timeout: '1m': a number of 0.001 or more is wanted"),
        (
            {"token_budget": 1.5},
            "config/api_reward_config.yaml: token_budget: 1.5: a whole number of 1 or more is wanted, or null for none",
        ),
        (
            {"token_budget": 0},
            "config/api_reward_config.yaml: token_budget: 0: a whole number of 1 or more is wanted, or null",
        ),
        ({"on_failure": "zero"}, "config/api_reward_config.yaml: on_failure: 'zero': allowed: unscored, wait, raise"),
        ({"scoring_prompt": "{prompt}"}, "config/api_reward_config.yaml: scoring_prompt: it must hold {response}"),
        ({"scoring_prompt": "{response} {x}"}, "config/api_reward_config.yaml: scoring_prompt: there is no {x}; there"),
        ({"prices": {"m": 3}}, "config/api_reward_config.yaml: prices.m: [input, output] is wanted"),
        ({"prices": {"m": [1, -1]}}, "config/api_reward_config.yaml: prices.m: [input, output] is wanted"),
        ({"fallback": [{"model": "m"}]}, "config/api_reward_config.yaml: fallback[0]: {api_type: ..., model: ..."),
        ({"fallback": "gpt-4o"}, "config/api_reward_config.yaml: fallback: a list of {api_type"),
        ({"base_url": "host:8000"}, "config/api_reward_config.yaml: base_url: 'host:8000' is no URL; https://host/v1"),
        ({"base_url": "https://a:b@host/v1"}, "config/api_reward_config.yaml: base_url: no key or password belongs"),
        ({"base_url": "https://host/v1?key=abc"}, "config/api_reward_config.yaml: base_url: no key or password"),
        ({"timeout": 400}, "timeout 400 is more than deadline 300, which it is a part of"),
    ],
)
def test_faults_of_the_file(tmp_path, values, start) -> None:
    found = faults(tmp_path, **values)
    assert len(found) == 1
    assert found[0].startswith(start)
    assert "abc" not in found[0]


ORDER = [field.name for field in dataclasses.fields(JudgeFile)]
ODD = [None, True, [], {}, [1], {"a": 1}, -1, 10**400, float("nan"), float("inf"), "1", "x y", "", b"x", 5, 1.5]


def test_whatever_a_field_holds_is_read_or_is_a_line_in_the_kits_words(tmp_path) -> None:
    for name, value in itertools.product(ORDER, ODD):
        try:
            found = getattr(load(written(tmp_path, **{name: value}), {}), name)
        except ConfigError as error:
            tag = "config/api_reward_config.yaml: not readable: line 1: !!binary: "  # how YAML writes bytes
            starts = (tag,) if value == b"x" else (f"config/api_reward_config.yaml: {name}", "timeout ")
            assert all(fault.startswith(starts) and len(fault) < 400 for fault in error.faults), (name, value, error)
            assert not re.search("Input should|pydantic|[{]value|[{]number|\n", str(error)), error
        else:
            assert type(found) is not bool, name
            assert found in (value, (), {}, str(value)), (name, value)


def test_unknown_keys_and_faulty_values_are_told_together(tmp_path) -> None:
    chain = [{"api_type": "openai", "model": "m", "base_ur": "x"}, {"api_type": "openai", "model": " "}, 5]
    assert list(faults(tmp_path, modle="m", timeout=0, run="r", fallback=chain, prices={1: [1]})) == [
        "config/api_reward_config.yaml: fallback[0]: there is no base_ur; did you mean base_url?",
        "config/api_reward_config.yaml: fallback[1].model: which one? a name of the provider's is wanted",
        "config/api_reward_config.yaml: fallback[2]: {api_type: ..., model: ..., base_url: ..., api_key_env: ...} is "
        "wanted, not 5",
        "config/api_reward_config.yaml: timeout: 0: a number of 0.001 or more is wanted, at most 31,622,400",
        "config/api_reward_config.yaml: prices[1]: [input, output] is wanted, money for a million tokens",
        "config/api_reward_config.yaml: there is no modle; did you mean model?",
        f"config/api_reward_config.yaml: there is no run; there are {', '.join(ORDER[:-11])} and 11 more",
    ]


def test_a_budget_of_money_wants_prices(tmp_path) -> None:
    chain = [{"api_type": "openai", "model": "gpt-4o"}, {"api_type": "openai", "model": "newer"}]
    file = written(tmp_path, money_budget=1, model="new", fallback=chain, prices={"gpt-4o": [1, 2]})
    (one, two) = unpriced(load(file, {}))
    assert one.startswith("--rm_budget 1: there is no price for new; add 'new: [input, output]' to prices in config/")
    assert "for newer" in two
    assert unpriced(load(written(tmp_path, model="new"), {})) == []


@pytest.mark.parametrize(("composite", "faults"), [(False, 1), (True, 0)])
def test_going_on_without_the_judge_needs_another_reward(tmp_path, monkeypatch, composite, faults) -> None:
    monkeypatch.setattr(judge, "FILE", written(tmp_path, at_limit="continue"))
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    settings = read_settings({"USE_API_REWARD": "1"}, [], gpus=0)
    if composite:
        weights = {"judge_score": 0.5, "rule_score": 0.5}
        settings = dataclasses.replace(settings, reward=RewardChoice("composite", weights))
    _, found = judge.plan(settings)
    assert len(found) == faults
    assert all("at_limit: continue: the judge is the only reward; take at_limit: stop" in fault for fault in found)


@pytest.mark.parametrize(
    ("name", "address", "model"),
    [
        ("claude-3-haiku", "", "claude-3-haiku-20240307"),
        ("claude-3-sonnet", "", "claude-3-sonnet-20240229"),
        ("claude-3-haiku-20240307", "", "claude-3-haiku-20240307"),
        ("claude-sonnet-4-5", "", "claude-sonnet-4-5"),
        ("claude-3-haiku", "https://proxy.example", "claude-3-haiku"),
    ],
)
def test_a_models_name_without_its_date(name, address, model) -> None:
    """As the manual has it; another server's names are its own."""
    config = load(judge.FILE, {"api_type": "claude", "model": name, "base_url": address})
    assert config.model == model
    assert (config.price(config.endpoints[0]) is None) == ("2024" not in model)


def test_each_endpoint_is_tried_and_the_one_at_fault_is_named(monkeypatch, tmp_path) -> None:
    """As well as the cache, before anything is asked in earnest."""
    monkeypatch.setenv("JUDGE_API_KEY", KEY)
    (tmp_path / "file").write_text("")

    def fault(asked: Asked) -> str | None:
        return {"gone": "model", "mute": "key"}.get(asked.model)

    with JudgeServer(judge_of_sums, fault=fault) as server:
        url = server.url("openai")
        chain = (Endpoint("openai", "gone", url), Endpoint("claude", "mute", server.url("claude"), "JUDGE_API_KEY"))
        found = JudgeConfig("openai", "m", url, fallback=chain, cache=str(tmp_path / "new" / "c.sqlite"))
        one, two = (each.text for each in judge.try_out(found)[0])
        unkept = dataclasses.replace(found, fallback=(), cache=str(tmp_path / "file" / "c.sqlite"))
        three = judge.try_out(unkept)[0][0].text
        asked = [each.model for each in server.script.asked]
    where = "config/api_reward_config.yaml: fallback"
    assert one.startswith(f"{where}[0], gone at {url}: openai has no such model")
    assert two.startswith(f"{where}[1], mute at {server.url('claude')}: the key in JUDGE_API_KEY is refused")
    assert sorted(asked) == ["gone", "m", "m", "mute"]
    assert three.startswith(f"the judge's cache {tmp_path / 'file' / 'c.sqlite'} cannot be used")


def test_all_faults_at_once_and_a_file_that_is_no_yaml(tmp_path) -> None:
    assert len(faults(tmp_path, {"scale": "1-1"}, concurrency=-1, on_failure="x", api_type="y")) == 4
    (tmp_path / "api_reward_config.yaml").write_text("a: [1\nb: 2")
    with pytest.raises(ConfigError, match=r"^config/api_reward_config\.yaml: not readable: ") as caught:
        load(tmp_path / "api_reward_config.yaml", {})
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize("name", ["concurrency", "attempts", "breaker_after", "deadline", "wait_limit", "money_budget"])
def test_no_number_is_beyond_all_use(tmp_path, name: str) -> None:
    (fault,) = faults(tmp_path, **{name: 10**26 - 1})
    assert fault.startswith(f"config/api_reward_config.yaml: {name}: 99999999999999999999999999: a ")


@pytest.mark.parametrize(
    "text",
    [
        *("null: 1", "~: 1", "? \n: 1", "fallback: [{null: 1}]", "model: null", "concurrency:", "scale: ~", "x: 1"),
        *(f"base_url: {'x' * 5000}", f"{'x' * 900}: 1", '"\\e[2J": 1', 'cache: "a\\e[2J"', "prices: {null: [1, 2]}"),
    ],
)
def test_a_refusal_is_short_and_speaks_yaml(tmp_path, text: str) -> None:
    file = tmp_path / "api_reward_config.yaml"
    file.write_text(text + "\n")
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    for fault in caught.value.faults:
        assert len(fault) < 400 and fault.isprintable() and "None" not in fault

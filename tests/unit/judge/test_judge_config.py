"""The judge's configuration, its command line, and everything that is said before anything starts."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reward.judge.config import FLAGS, ConfigError, JudgeConfig, load, unpriced
from reward.judge.providers import PROVIDERS, Endpoint
from tests.support.command import train_sh
from tests.support.judge_server import KEY, Asked, JudgeServer, judge_of_sums, material
from trainer import ROOT
from trainer.checks import judge
from trainer.settings.knobs import load_knobs, with_trait
from trainer.settings.reward_config import RewardChoice
from trainer.settings.settings import read_settings

KEYS = {name: "" for known in PROVIDERS.values() for name in (*known.keys, known.base_url_env, "JUDGE_API_KEY")}
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
        (
            {"prompt_preset": "maths"},
            "config/api_reward_config.yaml: prompt_preset: 'maths': allowed: general, math, co",
        ),
        ({"scale": "10-1"}, "config/api_reward_config.yaml: scale: '10-1' is no scale: the worst score must be below"),
        ({"scale": 5}, "config/api_reward_config.yaml: scale: 5: a text is wanted, in quotes"),
        ({"concurrency": 0}, "config/api_reward_config.yaml: concurrency: 0: a whole number of 1 or more is wanted"),
        ({"attempts": True}, "config/api_reward_config.yaml: attempts: True: a whole number of 1 or more is wanted"),
        ({"timeout": "1m"}, "config/api_reward_config.yaml: timeout: '1m': a number of 0.001 or more is wanted"),
        (
            {"token_budget": 0},
            "config/api_reward_config.yaml: token_budget: 0: a number of 1 or more is wanted, or null",
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


def test_a_budget_of_money_wants_prices(tmp_path) -> None:
    chain = [{"api_type": "openai", "model": "gpt-4o"}, {"api_type": "openai", "model": "newer"}]
    file = written(tmp_path, money_budget=1, model="new", fallback=chain, prices={"gpt-4o": [1, 2]})
    (one, two) = unpriced(load(file, {}))
    assert one.startswith("money_budget 1: there is no price for new; add 'new: [input, output]' to prices in config/")
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
        one, two = (each.text for each in judge.try_out(found))
        unkept = dataclasses.replace(found, fallback=(), cache=str(tmp_path / "file" / "c.sqlite"))
        three = judge.try_out(unkept)[0].text
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


def run(folder: Path, model: Path, *arguments: str, **environ: str) -> Any:
    """Start a training run that something is wrong with."""
    quiet = {**KEYS, "HF_ENDPOINT": "http://127.0.0.1:9", **environ}
    return train_sh("--model", str(model), "--use_api_reward", *arguments, OUTPUT_DIR=str(folder), timeout=120, **quiet)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            [],
            "qwen-plus at dashscope: no key; looked for DASHSCOPE_API_KEY in the environment: export ",
        ),
        (
            ["--rm_api_type", "gemini", "--rm_model", "g"],
            "looked for GEMINI_API_KEY and GOOGLE_API_KEY in the environm",
        ),
        (
            ["--rm_api_type", "claude", "--rm_model", "c"],
            "looked for ANTHROPIC_API_KEY and CLAUDE_API_KEY in the envir",
        ),
        (["--rm_api_type", "mistral"], "--rm_api_type='mistral': allowed: dashscope, openai, gemini, claude"),
        (["--rm_prompt_preset", "maths"], "--rm_prompt_preset='maths': allowed: math, code, dialogue, safety"),
        (["--rm_scoring_prompt", "{prompt}"], "--rm_scoring_prompt: it must hold {response}"),
        (["--rm_scoring_prompt", "{response} {truth}"], "--rm_scoring_prompt: there is no {truth}; there are {prompt}"),
        (["--rm_scale", "5-5"], "--rm_scale: '5-5' is no scale: the worst score must be below the best"),
        (["--rm_on_failure", "zero"], "--rm_on_failure='zero': allowed: unscored, wait, raise"),
    ],
)
def test_bad_input_is_one_line_before_anything_starts(tmp_path, small_model, arguments, line) -> None:
    result = run(tmp_path, small_model, *arguments)
    assert result.status == 2, result.err
    assert len(result.complaints) == 1, result.err
    assert line in result.complaints[0]
    assert not (tmp_path / "runs").exists()


def test_price_and_key_are_missed_at_once(tmp_path, small_model) -> None:
    result = run(tmp_path, small_model, "--rm_budget", "1", "--rm_model", "qwen-new")
    price, key = result.complaints
    assert result.status == 2
    assert "money_budget 1: there is no price for qwen-new; add 'qwen-new: [input, output]'" in price
    assert "qwen-new at dashscope: no key; looked for DASHSCOPE_API_KEY" in key


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ("key", "--rm_api_type openai: the key in JUDGE_API_KEY is refused: "),
        ("model", "--rm_model judge-1: openai has no such model, or nothing answers at that URL: "),
        ("quota", "--rm_api_type openai: the account's quota or credit is used up: "),
        ("503", "the judge judge-1 at http://127.0.0.1:"),
    ],
)
def test_what_only_the_provider_knows_is_asked_before_ray_starts(tmp_path, small_model, fault, line) -> None:
    with JudgeServer(judge_of_sums, fault=lambda _: fault) as server:
        flags = ("--rm_api_type", "openai", "--rm_model", "judge-1", "--rm_base_url", server.url("openai"))
        result = run(tmp_path, small_model, *flags, JUDGE_API_KEY=KEY)
    assert (result.status, len(result.complaints)) == (2, 1), result.err
    assert result.complaints[0].startswith(f"train.sh: {line}")
    assert KEY not in result.out + result.err
    assert not (tmp_path / "runs").exists()


MANUAL = [
    (),
    ("--rm_model", "qwen-plus"),
    ("--rm_api_type", "openai", "--rm_model", "gpt-4o-mini"),
    ("--rm_api_type", "gemini", "--rm_model", "gemini-1.5-flash"),
    ("--rm_api_type", "claude", "--rm_model", "claude-3-haiku-20240307"),
    *(("--rm_prompt_preset", name) for name in ("math", "code", "dialogue", "safety")),
    (
        *("--rm_system_prompt", "你是数学评分专家，请评估解答的正确性..."),
        *("--rm_scoring_prompt", r"问题：{prompt}\n解答：{response}\n答案：{ground_truth}\n请评分1-10..."),
    ),
]


def test_the_lines_of_the_manual(tmp_path) -> None:
    """Each as it stands; the keys that the environment has are nowhere in what is written."""
    secrets = {known.keys[0]: f"sk-secret-of-{name}" for name, known in PROVIDERS.items()}
    for number, arguments in enumerate(MANUAL):
        folder = tmp_path / str(number)
        result = train_sh("--use_api_reward", *arguments, "--dry_run", OUTPUT_DIR=str(folder), **secrets)
        assert result.status == 0, result.err
        (written_to,) = (folder / "dry_runs").iterdir()
        config = yaml.safe_load((written_to / "config.yaml").read_text())["reward"]
        assert config["custom_reward_function"]["path"] == "pkg://reward.judge.entry"
        assert config["reward_manager"]["name"] == "KitRewardManager"
        found = JudgeConfig.from_json(config["custom_reward_function"]["reward_kwargs"]["judge"])
        options = dict(zip(arguments[::2], arguments[1::2], strict=True))
        for flag, value in options.items():
            assert getattr(found, flag.removeprefix("--rm_")) == value.replace(r"\n", "\n")
        (plan,) = (line for line in result.out.splitlines() if line.startswith("judge "))
        assert re.search(r"; about [\d,]+ calls and [\d.]+ million tokens, \d+\.\d\d of money", plan), plan
        everything = (
            result.out + result.err + "".join(f.read_text(errors="replace") for f in folder.rglob("*") if f.is_file())
        )
        assert "sk-secret" not in everything


def test_a_file_is_scored_by_the_judge(tmp_path) -> None:
    rows = [
        {"prompt": f"{i} + 1 = ?", "response": f"{i + 1}", "ground_truth": i + 1 + i % 2, "data_source": "x"}
        for i in range(10)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{}\n")
    with JudgeServer(judge_of_sums) as server:
        arguments = ("score", str(tmp_path / "a.jsonl"), *server.flags())
        result = train_sh(*arguments, OUTPUT_DIR=str(tmp_path), timeout=120, **{**KEYS, "JUDGE_API_KEY": KEY})
        assert result.status == 0, result.err
        assert server.script.calls == 10
        assert material(server.script.asked[0].user, "TASK").endswith("+ 1 = ?")
    found = [json.loads(line) for line in (tmp_path / "a.scored.jsonl").read_text().splitlines()]
    assert [each["score"] for each in found] == [1.0, 0.0] * 5 + [None]
    assert KEY not in result.out + result.err + (tmp_path / "a.scored.jsonl").read_text()

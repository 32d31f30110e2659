"""``./train.sh check``: each finding is brought about for real where that is possible."""

import json
import shutil
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.judge_server import KEY, JudgeServer, judge_of_sums
from trainer.checks import host_checks, preflight, run_checks
from trainer.checks.finding import Finding
from trainer.commands import check
from trainer.launch import processes
from trainer.settings.settings import Settings, read_settings


def settings_of(folder: Path, model: Path, gpus: int = 0, **environ: str) -> Settings:
    return read_settings({"MODEL_PATH": str(model), "OUTPUT_DIR": str(folder / "out"), **environ}, [], gpus=gpus)


def looked(settings: Settings, folder: Path) -> run_checks.CheckResult:
    return run_checks.run_checks(settings, print, folder, make=False)


def of(found: run_checks.CheckResult, what: str, state: str) -> list[Finding]:
    return [each for each in found.findings if (each.what, each.state) == (what, state)]


def test_all_is_well(tmp_path, small_model, prefork) -> None:
    words = ("check", "--model", str(small_model), "--batch_size", "96")
    result = prefork.train_sh(*words, OUTPUT_DIR=str(tmp_path), timeout=300)
    assert result.status == 0, result.out + result.err
    lines = result.out.splitlines()
    states = {line[5:17].strip(): line[:5].strip() for line in lines if line[:5].strip() in ("ok", "warn", "fail")}
    names = ("model", "data", "reward", "tokenizer", "devices", "ports", "batch", "disk", "/dev/shm")
    assert {states[name] for name in names} == {"ok"}
    assert "mini batch" not in result.out  # 96 is a multiple of 16, so nothing was fitted
    assert any(line.startswith("GiB of one CPU rank") for line in lines)
    assert any(line.startswith("host memory ") for line in lines)
    assert lines[-1].split(";")[1].startswith(" ready to launch")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache"]  # no run was made


def test_all_that_is_wrong_at_once(tmp_path, prefork) -> None:
    data = tmp_path / "train.jsonl"
    data.write_text('{"prompt": "1+1=", "ground_truth": "", "data_source": "math"}\n{"prompt": ""}\n')
    flags = ("--data", str(data), "--model", str(tmp_path / "none"), "--logger", "wandb", "--reward_fn", "none.py")
    result = prefork.train_sh("check", *flags, OUTPUT_DIR=str(tmp_path / "out"), timeout=300)
    assert result.status == 2
    failed = [line[5:] for line in result.out.splitlines() if line.startswith("fail")]
    assert {line.split()[0] for line in failed} == {"model", "data", "settings", "reward"}
    assert "there is no such folder" in result.out
    assert "--logger wandb: export WANDB_API_KEY" in result.out
    assert "GiB of one" not in result.out
    assert f"{len(failed)} to fix" in result.out.splitlines()[-1]
    assert not (tmp_path / "out" / "runs").exists()


def test_the_first_fault_is_told_while_others_are_looked_for(tmp_path, small_model) -> None:
    """So that a launch stops what it has begun; each fault is found all the same."""
    told: list[bool] = []
    settings = settings_of(tmp_path, small_model, REWARD_FN="none.py", LOGGER="wandb")
    _, findings = preflight.look(settings, print, on_first_failure=lambda: told.append(True))
    assert {each.what for each in findings if each.state == "fail"} == {"reward", "settings"}
    assert len(told) == 2
    preflight.look(settings_of(tmp_path, small_model), print, on_first_failure=lambda: told.append(True))
    assert len(told) == 2


def test_flags_are_checked_first(prefork) -> None:
    result = prefork.train_sh("check", "--n_gpus", "3", "--batch_size", "100", "--lr", "fast")
    assert result.status == 2
    assert [line.split(":")[1].strip() for line in result.complaints] == [
        "--lr='fast'",
        "--batch_size 100 with --rollout_n 1 gives 100 samples, which 3 GPUs cannot share evenly; the nearest that "
        "they can",
    ]
    assert prefork.train_sh("check", "words").complaints == [
        "train.sh: check: takes the flags of a run and no other argument; leave out words",
    ]


def test_sizes_that_only_the_configuration_shows(tmp_path, small_model) -> None:
    words = ["actor_rollout_ref.actor.use_dynamic_bsz=true", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=64"]
    environ = {"MODEL_PATH": str(small_model), "OUTPUT_DIR": str(tmp_path)}
    found = looked(read_settings(environ, words, gpus=0), tmp_path)
    assert "actor: 64 tokens a pass of an update are fewer than prompt and response may have, 144; raise its " in str(
        of(found, "batch", "fail")
    )
    settings = settings_of(tmp_path, small_model, BATCH_SIZE="100", MINI_BATCH_SIZE="64")
    assert "verl adds 28 empty samples to each step" in of(looked(settings, tmp_path), "batch", "warn")[0].text
    settings = settings_of(tmp_path, small_model, MAX_PROMPT_LENGTH="500", MAX_RESPONSE_LENGTH="100")
    assert "the model has 512 positions" in of(looked(settings, tmp_path), "batch", "fail")[0].text


def test_a_disk_that_is_nearly_full(tmp_path, small_model, monkeypatch) -> None:
    settings = settings_of(tmp_path, small_model)
    usage = shutil.disk_usage("/")._replace(free=1 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    found = looked(settings, tmp_path)
    fault = of(found, "disk", "fail")[0]
    assert "1.0 GiB of disk are free and a run needs 2 GiB" in fault.text
    assert preflight.fatal(settings, found.findings) == [fault.text]
    assert preflight.fatal(settings_of(tmp_path, small_model, FORCE="true"), found.findings) == []


def test_shared_memory_that_is_too_small(tmp_path, small_model, monkeypatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=3 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda p: usage._replace(free=1 << 20) if p == "/dev/shm" else usage)
    fault = of(looked(settings_of(tmp_path, small_model), tmp_path), "/dev/shm", "fail")[0]
    assert fault.forced
    assert "1 MiB free and the weights need 64 MiB there" in fault.text


def test_memory_that_is_too_small(tmp_path, small_model, monkeypatch) -> None:
    monkeypatch.setattr(host_checks, "host_limit", lambda: (3 << 30, 7 << 29))
    found = looked(settings_of(tmp_path, small_model), tmp_path)
    fault = of(found, "memory", "fail")[0]
    assert fault.forced
    assert fault.text.startswith("about 3.8 GiB of the host's 3.5, of which 3.0 are free; try ")
    assert found.is_tight
    assert found.needs == "3.8 GiB of memory and 0.1 GiB of disk"
    monkeypatch.setattr(host_checks, "host_limit", lambda: (3 << 30, 64 << 30))
    assert of(looked(settings_of(tmp_path, small_model), tmp_path), "memory", "warn")


def test_a_container_with_little_memory(tmp_path) -> None:
    (tmp_path / "memory.max").write_text("4294967296\n")
    (tmp_path / "memory.current").write_text("1073741824\n")
    assert host_checks.host_limit(tmp_path) == (3 << 30, 4 << 30)
    (tmp_path / "memory.max").write_text("max\n")
    assert host_checks.host_limit(tmp_path)[1] == psutil.virtual_memory().total


def test_a_reward_that_cannot_tell_answers_apart(tmp_path, small_model) -> None:
    (tmp_path / "same.py").write_text("def compute_score(**_): return 1.0")
    environ = {"REWARD_FN": f"{tmp_path}/same.py"}
    found = looked(settings_of(tmp_path, small_model, **environ), tmp_path)
    fault = of(found, "reward", "fail")[0]
    assert fault.forced
    assert "extraction is at fault" in fault.text
    forced = settings_of(tmp_path, small_model, **environ, FORCE="true")
    again = looked(forced, tmp_path)
    assert preflight.fatal(forced, again.findings) == []
    assert "good and bad answers are not told apart" in of(again, "reward", "ok")[0].text
    (tmp_path / "broken.py").write_text("def compute_score(**_): raise ValueError('no')")
    forced = settings_of(tmp_path, small_model, REWARD_FN=f"{tmp_path}/broken.py", FORCE="true")
    assert preflight.fatal(forced, looked(forced, tmp_path).findings)  # a broken function scores nothing


@pytest.mark.parametrize("fault", [None, "key", "no key", "503"])
def test_the_judge_is_asked_once(tmp_path, small_model, monkeypatch, fault) -> None:
    if fault == "no key":
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    else:
        monkeypatch.setenv("JUDGE_API_KEY", KEY)
    judge = {"USE_API_REWARD": "true", "RM_API_TYPE": "openai", "RM_MODEL": "m"}
    with JudgeServer(judge_of_sums, fault=lambda asked: fault) as server:
        url = {} if fault == "no key" else {"RM_BASE_URL": server.url("openai")}
        found = looked(settings_of(tmp_path, small_model, **judge, **url), tmp_path)
        asked = server.script.calls
    if fault is None:
        assert (len(of(found, "judge", "ok")), asked) == (1, 1)
        return
    (finding,) = of(found, "judge", "fail")
    assert finding.forced is (fault == "503")  # it may be back; a key is not fixed by waiting
    said = {
        "key": "is refused: ",
        "no key": "no key; looked for OPENAI_API_KEY",
        "503": "does not answer (server_error",
    }
    assert said[fault] in finding.text
    forced = settings_of(tmp_path, small_model, **judge, **url, FORCE="true")
    assert preflight.fatal(forced, found.findings) == ([] if fault == "503" else [finding.text])
    assert KEY not in finding.text


@pytest.mark.parametrize(
    ("force", "status", "last"), [("false", 2, "--force would launch anyway"), ("true", 0, "--force launches")]
)
def test_check_says_what_a_launch_would_do(tmp_path, small_model, monkeypatch, capsys, force, status, last) -> None:
    monkeypatch.setattr(host_checks, "host_limit", lambda: (1 << 30, 1 << 30))
    monkeypatch.setattr(processes, "end_all", lambda traces: None)  # it would end what other tests keep
    settings = settings_of(tmp_path, small_model, FORCE=force)
    assert check.run(settings, []) == status
    out = capsys.readouterr().out.splitlines()
    assert any(line.startswith("fail memory") for line in out)
    assert last in out[-1]


def test_force_is_of_no_use_against_nonsense(tmp_path, prefork) -> None:
    flags: tuple[Any, ...] = ("--force", "--model", str(tmp_path / "none"))
    result = prefork.train_sh(*flags, OUTPUT_DIR=str(tmp_path / "out"), timeout=300)
    assert result.status == 2
    assert "there is no such folder" in result.err
    assert json.dumps(sorted(p.name for p in (tmp_path / "out").iterdir())) == '["cache"]'

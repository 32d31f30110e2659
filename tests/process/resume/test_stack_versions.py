"""A checkpoint of another torch, for real: written in one environment, read in the other."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command import train_sh
from trainer import ROOT

pytestmark = pytest.mark.stack
RELEASES = {"cpu": "2.13.0+cpu", "cuda-versions": "2.11.0"}


@pytest.fixture(scope="module")
def written(both_stacks, small_model, tmp_path_factory) -> Path:
    """An output folder with a checkpoint of each stack, of a run by its name."""
    output = tmp_path_factory.mktemp("written")
    for stack, environment in both_stacks.items():
        run = output / "runs" / stack
        run.mkdir(parents=True)
        command = [environment / "bin/python", "-m", "tests.support.training", small_model, run, "2"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        (run / "settings.json").write_text(json.dumps({"given": {}, "overrides": []}))
    return output


@pytest.mark.parametrize("stack", RELEASES)
def test_a_checkpoint_names_the_versions_that_wrote_it(written, stack) -> None:
    mark = json.loads((written / "checkpoints" / stack / "global_step_2" / "complete.json").read_text())
    assert mark["versions"].keys() == {"torch", "verl", "transformers"}
    assert mark["versions"]["torch"] == RELEASES[stack]


@pytest.mark.parametrize(
    ("reader", "writer", "command"),
    [
        ("cpu", "cuda-versions", ("export",)),
        ("cpu", "cuda-versions", ("eval",)),
        ("cpu", "cuda-versions", ("check", "--resume")),
        ("cuda-versions", "cpu", ("check", "--resume")),
    ],
)
def test_another_torch_says_which_wrote_it_and_what_to_do(both_stacks, written, reader, writer, command) -> None:
    result = train_sh(*command, writer, OUTPUT_DIR=str(written), VENV=str(both_stacks[reader]))
    assert result.status == 2
    (line,) = [line for line in (result.out + result.err).splitlines() if "was written with" in line]
    assert f"was written with torch {RELEASES[writer]}, verl" in line
    assert f"here are torch {RELEASES[reader]}, verl" in line
    assert "VENV=/path/to/it" in line


@pytest.mark.parametrize("stack", RELEASES)
def test_its_own_torch_exports_it(both_stacks, written, stack) -> None:
    result = train_sh("export", stack, timeout=300, OUTPUT_DIR=str(written), VENV=str(both_stacks[stack]))
    assert result.status == 0, result.err
    assert (written / "checkpoints" / stack / "model-step-2" / "model.safetensors").is_file()

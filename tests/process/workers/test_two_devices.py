"""Tensors of two devices, with no GPU: all that a run computes on one, on a device that is none."""

import json
import subprocess
import sys

import pytest

from tests.support.command import clean_environment

CASES = (
    *("log_probabilities", "log_probabilities_of_micro_batches_by_tokens", "values", "update_of_the_actor"),
    *("update_of_the_critic", "update_of_a_model_that_is_padded", "update_with_torchs_flash_kernels"),
    *("kl_over_the_whole_vocabulary", "a_loss_that_is_not_finite", "checksums_of_weights", "scores_of_reward_models"),
)
MIXED = """
import torch
from tests.support import other_device
with other_device.device():
    here, there = torch.ones(2), torch.ones(2).to("gpu")
    assert (there + there).device.type == (there * 2).device.type == "gpu"
    assert (there.cpu() + here).tolist() == [2, 2]
    there + here
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=clean_environment(), capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def faults(tmp_path_factory) -> dict[str, str]:
    done = run("-m", "tests.support.device_cases", str(tmp_path_factory.mktemp("cases")))
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("name", CASES)
def test_none_meets_one_of_the_other_device(faults, name) -> None:
    """And the numbers are those of the CPU."""
    assert not faults[name], faults[name]


def test_there_is_no_case_beside_these(faults) -> None:
    assert tuple(faults) == CASES


def test_the_device_refuses_what_a_gpu_does() -> None:
    assert "aten::add: tensors of two devices" in run("-c", MIXED).stderr

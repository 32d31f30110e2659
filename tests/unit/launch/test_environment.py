"""What the engine is told by env vars."""

import pytest

from trainer.launch.environment import SAMPLER, of_device
from trainer.settings.settings import read_settings


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_vllm_compiles_no_sampler_on_a_gpu(device, monkeypatch) -> None:
    """FlashInfer's needs nvcc, which a machine with a driver has not; a person who wants it sets the env var."""
    monkeypatch.delenv(SAMPLER, raising=False)
    settings = read_settings({"DEVICE": device, "N_GPUS": "1"}, [], gpus=1)
    assert of_device(settings).get(SAMPLER) == ("0" if device == "cuda" else None)
    monkeypatch.setenv(SAMPLER, "1")
    assert of_device(settings).get(SAMPLER) == ("1" if device == "cuda" else None)

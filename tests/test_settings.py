"""Env vars and flags into settings: precedence, defaults by device and model, faults."""

import pytest

from trainer.settings import UserError, read_settings


def faults(environ: dict[str, str], *words: str, gpus: int = 0) -> tuple[str, ...]:
    with pytest.raises(UserError) as error:
        read_settings(environ, words, gpus)
    return error.value.faults


def test_a_machine_with_no_gpu_gets_the_tiny_run() -> None:
    settings = read_settings({}, [], gpus=0)
    assert settings.text("DEVICE") == "cpu"
    assert settings.text("MODEL_PATH") == "builtin:tiny"
    assert settings.integer("N_GPUS") == 1
    assert settings.values["LR"] == 1e-4  # the tiny model's own


def test_a_gpu_machine_gets_the_tables_defaults() -> None:
    settings = read_settings({}, [], gpus=8)
    assert settings.text("DEVICE") == "cuda"
    assert settings.text("MODEL_PATH") == "Qwen/Qwen2.5-0.5B"
    assert settings.integer("N_GPUS") == 8
    assert settings.integer("BATCH_SIZE") == 256
    assert settings.values["LR"] == 1e-6


def test_what_is_given_wins() -> None:
    settings = read_settings({"MODEL_PATH": "builtin:smollm2", "DEVICE": "cpu", "LR": "3e-5"}, [], gpus=8)
    assert settings.text("DEVICE") == "cpu"
    assert settings.values["LR"] == 3e-5
    assert settings.integer("BATCH_SIZE") == 32  # the default with no GPU, not the tiny model's
    assert settings.values["CRITIC_LR"] == 1e-5


def test_epochs_that_are_asked_for_are_not_cut_by_a_default_of_steps() -> None:
    assert read_settings({}, [], gpus=0).values["TOTAL_STEPS"] == 40
    assert read_settings({"EPOCHS": "3"}, [], gpus=0).values["TOTAL_STEPS"] == "auto"
    assert read_settings({"EPOCHS": "3", "TOTAL_STEPS": "7"}, [], gpus=0).values["TOTAL_STEPS"] == 7


def test_all_faults_are_found_at_once() -> None:
    found = faults({"LR": "fast", "KIT_GIVEN": "LR", "N_GPUS": "-1", "KIT_UNKNOWN": "modle"}, "what", "a.b=1")
    assert found == (
        "--modle: there is no such flag; did you mean --model?",
        "'what': neither a flag (--name) nor an override for verl (key=value)",
        "N_GPUS='-1': allowed: a whole number 1 or more",
        "--lr='fast': allowed: a number above 0",
    )


@pytest.mark.parametrize(
    ("environ", "gpus", "start"),
    [
        ({"DEVICE": "cuda"}, 0, "--device cuda: nvidia-smi lists no GPU"),
        ({"N_GPUS": "4"}, 2, "--n_gpus 4: this machine has 2"),
        ({"BATCH_SIZE": "8"}, 0, "--mini_batch_size 64 is larger than --batch_size 8"),
        ({"N_GPUS": "3"}, 0, "--batch_size 128 with --rollout_n 1 gives 128 samples, which 3 GPUs cannot share"),
        ({"ROLLOUT_TP_SIZE": "2"}, 0, "--rollout_tp_size 2 does not divide --n_gpus 1"),
        ({"DATA": "x.parquet"}, 0, "--data x.parquet: give --val_data too"),
    ],
)
def test_contradictions(environ, gpus, start) -> None:
    assert faults(environ, gpus=gpus)[0].startswith(start)

"""Defaults that do not fit the model that was given are told before a launch; what was given is not."""

import pytest

from trainer.checks import model_defaults
from trainer.settings.settings import read_settings

SMOLLM2 = 134_515_008


def told(parameters: int | None = SMOLLM2, gpus: int = 0, **environ: str) -> list[str]:
    settings = read_settings({"MODEL_PATH": "some/model", **environ}, [], gpus=gpus)
    return list(model_defaults.warnings(settings, parameters))


def test_a_real_model_with_no_gpu() -> None:
    length, rate = told()
    assert length.startswith("--max_response_length 16, the default here, cuts the answers of most chat models")
    assert "some/model has 134.5 million; try --lr 1e-05 --critic_lr 0.0001" in rate


@pytest.mark.parametrize(
    "environ",
    [
        {"MAX_RESPONSE_LENGTH": "16", "LR": "1e-6"},
        {"MAX_RESPONSE_LENGTH": "16", "CRITIC_LR": "1e-5"},
        {"MAX_RESPONSE_LENGTH": "16", "LORA_RANK": "8"},
        {"MODEL_PATH": "builtin:tiny"},
        {"MODEL_PATH": "builtin:smollm2"},
    ],
)
def test_what_was_given_is_not_questioned(environ) -> None:
    assert told(**environ) == []


def test_a_model_of_a_million_parameters_takes_the_rates_of_the_built_in_one() -> None:
    (line,) = told(2_100_000, gpus=1)
    assert line.endswith("has 2.1 million; try --lr 0.0001 --critic_lr 0.001")
    tiny = read_settings({}, [], gpus=0)
    assert (tiny.number("LR"), tiny.number("CRITIC_LR")) == (1e-4, 1e-3)


def test_the_built_in_chat_model_on_other_data() -> None:
    """Its column of the table has rates for it, and a length for short sentences."""
    (line,) = told(MODEL_PATH="builtin:smollm2", DATA="train.json")
    assert line.startswith("--max_response_length 32, the default")


def test_models_that_the_defaults_are_for() -> None:
    assert told(494_032_768, gpus=1) == []
    assert told(None, gpus=1) == []


def test_turns_have_limits_of_their_own() -> None:
    assert told(None, ENV_NAME="frozenlake", MODEL_PATH="some/model") == []

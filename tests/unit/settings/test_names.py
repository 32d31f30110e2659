"""Names that are no flags: those of other frameworks, which docs/coming_from.md has, and flags without their dashes."""

import pytest

from trainer.settings.given import names
from trainer.settings.knobs import load_knobs
from trainer.settings.settings import read_settings
from trainer.user_error import UserError


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rollout_batch_size", "ROLL's is --batch_size here (prompts a step; 128 there, 256 here)"),
        ("normalize-advantages", "RLinf's is --whiten_advantages here"),
        ("learning_rate", "TRL's is --lr here (and --critic_lr)"),
        ("use_peft", "TRL's is --lora_rank here"),
        ("loss_agg_func", "RLinf's is --loss_agg_mode here"),
        ("modle", "did you mean --model?"),
        ("zzzz", "./train.sh --help lists them all"),
    ],
)
def test_what_was_meant(name, text) -> None:
    assert names.meant(name, load_knobs()) == text


def test_all_rows_of_the_page_are_read() -> None:
    """And each names flags that there are."""
    flags = {knob.flag for knob in load_knobs()}
    assert len(names.elsewhere()) > 70
    for name, texts in names.elsewhere().items():
        for text in texts:
            here = text.partition(" is ")[2].partition(" ")[0] if " is " in text.partition("(")[0] else ""
            assert not here.startswith("--") or here[2:] in flags, (name, text)


@pytest.mark.parametrize("word", ["lr=5e-7", "LR=5e-7", "batch-size=64"])
def test_a_flag_without_its_dashes(word) -> None:
    with pytest.raises(UserError) as error:
        read_settings({}, [word], gpus=0)
    key, _, value = word.partition("=")
    assert error.value.faults == (f"{word}: a flag has two dashes: --{key.lower().replace('-', '_')} {value}",)

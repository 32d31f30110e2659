"""What a newcomer is told before a launch: sizes of well-known models, prompts counted as ``builtin:tiny`` will."""

import csv

import pytest

from trainer import ROOT
from trainer.checks import prompts
from trainer.checks.forecast import model

with (ROOT / "config" / "model_sizes.tsv").open(encoding="utf-8", newline="") as file:
    KNOWN = list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row["name"])
def test_sizes_of_known_models_give_their_parameters(row) -> None:
    """Which their publishers tell."""
    size = model.of_config(model.known_config(row["name"]))
    assert size is not None
    assert size.total == int(row["parameters"])
    assert model.known_config(f"{row['name']}-Instruct") == model.known_config(row["name"])


def test_other_models_have_no_known_sizes() -> None:
    assert model.known_config("somebody/Qwen2.5-7B") == {}


def test_prompts_are_counted_as_the_tiny_model_will(tmp_path) -> None:
    from data.tiny import build_tokenizer

    tokenizer, stand_in = build_tokenizer(), prompts.ByteTokenizer()
    for messages in (
        [{"role": "user", "content": "小明有 3 个苹果"}],
        [
            {"role": "system", "content": "add"},
            {"role": "user", "content": "1+1="},
            {"role": "assistant", "content": "2"},
            {"role": "user", "content": "é\n"},
        ],
    ):
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        other = stand_in.apply_chat_template(messages, tools=None, add_generation_prompt=True, tokenize=False)
        wanted = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        assert len(stand_in(other, add_special_tokens=False)["input_ids"]) == wanted


@pytest.mark.parametrize(
    ("rows", "usable", "batch", "text"),
    [
        (191, 191, 256, "--batch_size 256: there are 191 prompts to train on; lower it, or give more data"),
        (191, 0, 128, "--max_prompt_length 16: all 191 prompts exceed it: raise it to 132"),
        (
            191,
            90,
            128,
            "--max_prompt_length 16: 101 of 191 prompts exceed it, and a batch has 128: raise it to 132, or lower "
            "--batch_size",
        ),
    ],
)
def test_too_few_prompts(rows, usable, batch, text) -> None:
    assert prompts.too_few(16, rows, usable, 132, batch) == text

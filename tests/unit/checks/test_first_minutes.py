"""What a newcomer is told before a launch: prompts that a model to be made cannot read, sizes of well-known models."""

import csv
import json

import pytest

from tests.support.command import train_sh
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


def test_a_dry_run_of_a_known_model_has_a_forecast(tmp_path) -> None:
    words = ("--dry_run", "--model", "Qwen/Qwen2.5-7B", "--n_gpus", "8", "--device", "cuda")
    result = train_sh(*words, OUTPUT_DIR=str(tmp_path))
    assert result.status == 0, result.err
    assert "no forecast" not in result.out
    assert "update   lr 1e-06, critic 1e-05; clip 0.2; KL 0.001 in the reward (kl)\n" in result.out


def test_a_dry_run_holds_the_forecast_against_a_gpu_that_is_elsewhere(tmp_path) -> None:
    words = ("--dry_run", "--model", "Qwen/Qwen2.5-7B", "--n_gpus", "8", "--device", "cuda", "--gpu_memory")
    assert train_sh(*words, "80", OUTPUT_DIR=str(tmp_path)).status == 0
    refused = train_sh(*words, "24", OUTPUT_DIR=str(tmp_path))
    assert refused.status == 2
    assert " of 24.0 GiB of each GPU at the peak; try --rollout_tp_size 8 " in refused.err


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


def test_prompts_that_are_too_long_are_seen_before_the_model_is_made(tmp_path) -> None:
    """Not 40 seconds later, once a launch has made it."""
    rows = [{"prompt": f"小明有{n}个苹果，又买了{n}个", "ground_truth": str(2 * n)} for n in range(200)]
    data = tmp_path / "train.jsonl"
    data.write_text("".join(f"{json.dumps(row | {'data_source': 'arith'})}\n" for row in rows), encoding="utf-8")
    words = ("--data", str(data), "--device", "cpu", "--no_reward_check", "--model", "builtin:tiny")
    for command in ((), ("check",)):
        result = train_sh(*command, *words, OUTPUT_DIR=str(tmp_path / "out"))
        assert result.status == 2
        told = result.out + result.err
        assert "--max_prompt_length 16: all 190 prompts exceed it: raise it to 41" in told, told
    assert not list((tmp_path / "out").rglob("config.json"))
    assert train_sh("check", *words, "--max_prompt_length", "64", OUTPUT_DIR=str(tmp_path / "out")).status == 0


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

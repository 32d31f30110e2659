"""What a newcomer is told before a launch: a forecast for a well-known model, prompts too long for ``builtin:tiny``."""

import json


def test_a_dry_run_of_a_known_model_has_a_forecast(tmp_path, prefork) -> None:
    words = ("--dry_run", "--model", "Qwen/Qwen2.5-7B", "--n_gpus", "8", "--device", "cuda")
    result = prefork.train_sh(*words, OUTPUT_DIR=str(tmp_path))
    assert result.status == 0, result.err
    assert "no forecast" not in result.out
    assert "update   lr 1e-06, critic 1e-05; clip 0.2; KL 0.001 in the reward (kl)\n" in result.out


def test_a_dry_run_holds_the_forecast_against_a_gpu_that_is_elsewhere(tmp_path, prefork) -> None:
    words = ("--dry_run", "--model", "Qwen/Qwen2.5-7B", "--n_gpus", "8", "--device", "cuda", "--gpu_memory")
    assert prefork.train_sh(*words, "80", OUTPUT_DIR=str(tmp_path)).status == 0
    refused = prefork.train_sh(*words, "24", OUTPUT_DIR=str(tmp_path))
    assert refused.status == 2
    assert " of 24.0 GiB of each GPU at the peak; try --rollout_tp_size 8 " in refused.err


def test_prompts_that_are_too_long_are_seen_before_the_model_is_made(tmp_path, prefork) -> None:
    """Not 40 seconds later, once a launch has made it: a limit that was given refuses, the default is raised."""
    rows = [{"prompt": f"小明有{n}个苹果，又买了{n}个", "ground_truth": str(2 * n)} for n in range(200)]
    data = tmp_path / "train.jsonl"
    data.write_text("".join(f"{json.dumps(row | {'data_source': 'arith'})}\n" for row in rows), encoding="utf-8")
    words = ("--data", str(data), "--device", "cpu", "--no_reward_check", "--model", "builtin:tiny")
    narrow = (*words, "--max_prompt_length", "16")
    of_tiny = ((*first, *narrow) for first in ((), ("check",), ("--dry_run",)))
    for command, least in (
        *((tiny, "41") for tiny in of_tiny),
        (("--dry_run", *narrow, "--model=builtin:smollm2"), "53"),
    ):
        result = prefork.train_sh(*command, OUTPUT_DIR=str(tmp_path / "out"))
        assert result.status == 2
        told = result.out + result.err
        assert f"--max_prompt_length 16: all 190 prompts exceed it: raise it to {least}" in told, told
    assert not list((tmp_path / "out").rglob("config.json"))
    chosen = "--max_prompt_length is 41: the default is 16, and all 190 prompts exceed it\n"
    for command, line in (("check", f"ok   tokenizer   {chosen}"), ("--dry_run", f"data: {chosen}")):
        result = prefork.train_sh(command, *words, OUTPUT_DIR=str(tmp_path / "out"))
        assert (result.status, line in result.out, "measured" in result.out) == (0, True, False), result.out
    assert "up to 41 + 8 tokens" in result.out


def test_a_dry_run_says_that_prompts_were_not_measured_and_why(tmp_path, prefork) -> None:
    """A model of the hub, of which nothing is fetched; one that the first launch makes; a folder without the file."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen2"}')
    absent = "is not on this machine, and"
    missing = {
        "--model Qwen/Qwen2.5-7B": f"the tokenizer of Qwen/Qwen2.5-7B {absent} a dry run fetches nothing",
        "--env frozenlake": f"the tokenizer of builtin:tiny {absent} the first launch makes it",
        f"--model {folder}": f"{folder} has no tokenizer.json",
    }
    for words, why in missing.items():
        result = prefork.train_sh(
            "--dry_run", "--device", "cpu", *words.split(), OUTPUT_DIR=str(tmp_path), HF_HOME=str(tmp_path)
        )
        assert result.status == 0, result.err
        assert f"prompts were not measured: {why}; ./train.sh check measures them\n" in result.out, result.out


def test_a_toy_of_one_row(tmp_path, prefork) -> None:
    """As in the manual: a batch of one prompt, said in the plan, in a line of ``check`` and as a warning."""
    data = tmp_path / "train.json"
    row = {"prompt": "计算 15 + 27 的结果", "ground_truth": "42", "data_source": "math_reasoning"}
    data.write_text(json.dumps([row], ensure_ascii=False), encoding="utf-8")
    words = ("--data", str(data), "--device", "cpu", "--output_dir", str(tmp_path / "out"))
    planned, checked = prefork.train_sh("--dry_run", *words), prefork.train_sh("check", *words)
    assert (planned.status, checked.status) == (0, 0), planned.err + checked.out
    assert "warning: 1 prompt to train on: a toy, which shows that a run works" in planned.out
    assert "data: --max_prompt_length is 26: the default is 16, and the one prompt exceeds it\n" in planned.out
    assert "batch    1 prompt x 1 a step, up to 26 + 8 tokens" in planned.out
    assert "(batch 1 for 128, mini batch 1 for 64: what 1 prompt fills)" in planned.out
    assert "warn data        1 prompt to train on: a toy" in checked.out
    refused = prefork.train_sh("--dry_run", *words, "--batch_size", "8")
    assert refused.status == 2
    told = "train.sh: --batch_size 8: there is 1 prompt to train on; give --batch_size 1 at most, or leave it out\n"
    assert refused.err == told

"""The memory forecast against a real run with no GPU: peak of each kind of process, measured and foretold.

    .venv/bin/python -m tests.bench.memory [--steps 2] [train.sh arguments]

The model has the shape of SmolLM2-135M and random weights, so that it outweighs what the processes take by
themselves, and no hub is needed. It never ends an answer, so that responses are as long as they may be. Memory is the
proportional set size (PSS), which counts shared pages once, twice a second.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import psutil
from omegaconf import OmegaConf

from data import tiny
from tests.command import clean_environment
from trainer import ROOT
from trainer.forecast.host import host_memory
from trainer.forecast.memory import BASE, of_rank, peaks
from trainer.forecast.model import of_config
from trainer.forecast.run import RunSize

ARGUMENTS = {
    **{"n_gpus": "1", "batch_size": "32", "mini_batch_size": "16", "max_prompt_length": "16"},
    **{"max_response_length": "48", "dtype": "float32", "keep": "1", "ppo_epochs": "1", "critic_epochs": "1"},
}


def model(folder: Path) -> Path:
    """Write a model of SmolLM2-135M's shape to ``folder``."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tiny.build_tokenizer()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=2048, tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def role(process: psutil.Process) -> str:
    """Return which of the forecast's processes this is."""
    words = " ".join(process.cmdline())
    if "WorkerDict" in words:
        return "trainer"
    return "vllm" if words.startswith("VLLM::") else "export" if "trainer.export" in words else "others"


def look(process: psutil.Process) -> dict[str, int]:
    """Return the PSS in bytes of ``process`` and its descendants, by role."""
    found: dict[str, int] = defaultdict(int)
    with contextlib.suppress(psutil.Error):
        for each in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                found[role(each)] += each.memory_full_info().pss
    return dict(found)


def data(folder: Path) -> Path:
    """Write 40 sums to a file, so that there is little to validate."""
    rows = [{"prompt": f"{n} + {n} = ?", "ground_truth": 2 * n, "data_source": "arith"} for n in range(10, 52)]
    path = folder / "sums.json"
    path.write_text(json.dumps(rows))
    return path


def measure(output: Path, steps: int, arguments: list[str]) -> dict[str, int]:
    """Train ``steps`` steps; return the peak PSS in bytes by role, and of all at once."""
    words = [word for name, value in ARGUMENTS.items() for word in (f"--{name}", value)]
    fixed = ["--model", str(model(output / "model")), "--data", str(data(output)), "--val_data", str(data(output))]
    fixed += ["--total_steps", str(steps), "--run_name", "memory", "--no_reward_check", "--force"]
    peaks: dict[str, int] = defaultdict(int)
    command = [str(ROOT / "train.sh"), *fixed, *words, *arguments]
    environment = clean_environment(OUTPUT_DIR=str(output), VENV=str(Path(sys.prefix)))
    with psutil.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            now = look(process)
            for name, size in {**now, "all": sum(now.values())}.items():
                peaks[name] = max(peaks[name], size)
            time.sleep(0.5)
    assert process.returncode == 0, f"train.sh ended with status {process.returncode}"
    return dict(peaks)


def foretold(output: Path) -> dict[str, int]:
    """Return what the forecast says of the run in ``output``."""
    config = OmegaConf.load(output / "runs" / "memory" / "config.yaml")
    size = of_config(json.loads((output / "model" / "config.json").read_text()))
    assert size is not None
    run = RunSize.of_config(config)
    parts = of_rank(size, run)
    of_vllm = {"vLLM weights", "KV cache"}
    base = BASE["cpu"]
    vllm = base["vllm"] + max(sum(each) for each in zip(*(p.bytes for p in parts if p.name in of_vllm), strict=True))
    rest = [p.bytes for p in parts if p.name not in of_vllm | {"processes"}]
    everything = host_memory(size, run)
    return {
        "trainer": base["trainer"] + max(sum(each) for each in zip(*rest, strict=True)),
        "vllm": vllm,
        "others": everything - max(peaks(parts).values()),
        "all": everything,
    }


def main() -> None:
    """Measure, compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2)
    options, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder), options.steps, arguments)
        forecast = foretold(Path(folder))
    print("| Processes | Measured, MiB | Forecast, MiB | Off by |\n|---|---|---|---|")
    for name, size in forecast.items():
        print(f"| {name} | {measured[name] >> 20} | {size >> 20} | {size / measured[name] - 1:+.1%} |")
    off = abs(forecast["all"] / measured["all"] - 1)
    assert off < 0.15, f"the forecast is off by {off:.0%}"


if __name__ == "__main__":
    main()

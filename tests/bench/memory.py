"""The memory forecast against a real run with no GPU: peak of each kind of process, measured and foretold.

    .venv/bin/python -m tests.bench.memory [--steps 3] [--trace trace.json] [train.sh arguments]

The model has the shape of SmolLM2-135M and random weights, so that it outweighs what the processes take by
themselves, and no hub is needed. It never ends an answer, so that responses are as long as they may be. Memory is the
proportional set size (PSS), which counts shared pages once, twice a second.
"""

import argparse
import contextlib
import json
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import psutil

from data import tiny
from tests.command import clean_environment
from trainer import ROOT

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


def measure(output: Path, steps: int, arguments: list[str]) -> list[tuple[float, dict[str, int]]]:
    """Train ``steps`` steps; return (seconds, PSS in bytes by role), twice a second."""
    words = [word for name, value in ARGUMENTS.items() for word in (f"--{name}", value)]
    fixed = ["--model", str(model(output / "model")), "--total_steps", str(steps), "--run_name", "memory"]
    started, trace = time.monotonic(), []
    command = [str(ROOT / "train.sh"), *fixed, *words, *arguments]
    with psutil.Popen(command, env=clean_environment(OUTPUT_DIR=str(output)), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            trace.append((time.monotonic() - started, look(process)))
            time.sleep(0.5)
    assert process.returncode == 0, f"train.sh ended with status {process.returncode}"
    return trace


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--trace", type=Path)
    options, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = measure(Path(folder), options.steps, arguments)
        if options.trace:
            log = (Path(folder) / "runs" / "memory" / "train.log").read_text(errors="replace")
            options.trace.write_text(json.dumps({"trace": trace, "log": log}))


if __name__ == "__main__":
    main()

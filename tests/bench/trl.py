"""TRL's PPOTrainer at the work of tests/bench/step.py: the same model, prompts, batch, lengths and libraries.

    .venv/bin/python -m tests.bench.trl [--steps 12]

TRL is put into outputs/cache/bench-trl, without its dependencies, which are the kit's own. It scores with a model, here
one of the policy's size, where the kit has its rule.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time

from trainer import ROOT

HOME, VERSION = ROOT / "outputs" / "cache" / "bench-trl", "1.12.0"
BATCH, MINI, TOKENS, FIRST = 128, 64, 8, 3


def main() -> None:
    """Print the median seconds of a step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    if not (HOME / "trl").exists():
        install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--target",
            str(HOME),
            f"trl=={VERSION}",
        ]
        subprocess.run(["python3", *install], check=True)
    sys.path.append(str(HOME))
    seconds, cpu = train(options.steps)
    print(f"TRL {VERSION}: {statistics.median(seconds):.2f} s a step, {statistics.median(cpu):.2f} CPU seconds")


def train(steps: int) -> tuple[list[float], list[float]]:
    """Train; return the seconds and the CPU seconds of each step after the first ones."""
    import torch
    from datasets import Dataset
    from transformers import (
        AutoModelForCausalLM,
        AutoModelForSequenceClassification,
        AutoTokenizer,
        TrainerCallback,
    )
    from trl.experimental.ppo import PPOConfig, PPOTrainer

    from data import arith

    (folder,) = (ROOT / "outputs" / "cache" / "models").glob("tiny-*/")
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": arith.question(problem)}], add_generation_prompt=True, return_dict=True
        )["input_ids"]
        for problem in arith.problems()[0]
    ]
    policy, reference = (AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32) for _ in range(2))
    value, reward = (
        AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1, dtype=torch.float32) for _ in range(2)
    )
    marks: list[tuple[float, float]] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: object, **__: object) -> None:
            """Note that a step has ended."""
            marks.append((time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory() as output:
        config = PPOConfig(
            output_dir=output,
            per_device_train_batch_size=BATCH,
            num_mini_batches=BATCH // MINI,
            total_episodes=BATCH * steps,
            num_ppo_epochs=1,
            response_length=TOKENS,
            local_rollout_forward_batch_size=BATCH,
            num_sample_generations=0,
            learning_rate=1e-4,
            temperature=1.0,
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
            save_strategy="no",
            eval_strategy="no",
        )
        PPOTrainer(
            args=config,
            processing_class=tokenizer,
            model=policy,
            ref_model=reference,
            reward_model=reward,
            value_model=value,
            train_dataset=Dataset.from_dict({"input_ids": prompts}),
            eval_dataset=Dataset.from_dict({"input_ids": prompts[:BATCH]}),
            callbacks=[Clock()],
        ).train()
    pairs = list(itertools.pairwise(marks))[FIRST - 2 :]
    return [b[0] - a[0] for a, b in pairs], [b[1] - a[1] for a, b in pairs]


if __name__ == "__main__":
    main()

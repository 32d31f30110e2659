"""The KL over the whole vocabulary: what it costs, and how far estimates of one token are from it.

.venv/bin/python -m tests.bench.kl cost              # at the shape of SmolLM2's head, in one run
.venv/bin/python -m tests.bench.kl step              # of a step of the main job, by turns
.venv/bin/python -m tests.bench.kl step --large      # and of a model of SmolLM2's shape
./train.sh --kl_penalty full trainer.v1.ppo_kit.dump=$PWD/outputs/dump
.venv/bin/python -m tests.bench.kl spread outputs/dump
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.functional import linear
from verl.utils.torch_functional import logprobs_from_logits

from tests.bench import memory
from tests.bench.step import FIRST, record
from trainer import ROOT
from trainer.algorithm.kl import estimates as kl
from trainer.algorithm.kl.distributions import Head, compare

TOKENS, HIDDEN, WORDS = 1536, 576, 49152
ROUNDS = 3


def parts() -> tuple[torch.Tensor, ...]:
    """Return hidden states and heads of two models, and sampled tokens."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((TOKENS, HIDDEN), (WORDS, HIDDEN)) * 2
    tensors = [torch.randn(*shape, generator=generator) / 8 for shape in shapes]
    return *tensors, torch.randint(WORDS, (TOKENS,), generator=generator)


def estimate() -> torch.Tensor:
    """The head's part of a loss with k1: both models' log-probabilities of the sampled token."""
    hidden, weight, ref_hidden, ref_weight, labels = parts()
    weight.requires_grad_()
    log_probs = logprobs_from_logits(linear(hidden.requires_grad_(), weight), labels)
    with torch.no_grad():
        ref_log_probs = logprobs_from_logits(linear(ref_hidden, ref_weight), labels)
    return (log_probs - ref_log_probs).mean()


def blocks() -> torch.Tensor:
    """The KL over the whole vocabulary as the kit computes it."""
    hidden, weight, ref_hidden, ref_weight, labels = parts()
    heads = Head(weight.requires_grad_()), Head(ref_weight)
    return compare(hidden.requires_grad_(), heads[0], ref_hidden, heads[1], labels, torch.ones(TOKENS)).kl.mean()


def whole() -> torch.Tensor:
    """The same with the distributions of all tokens held at once."""
    hidden, weight, ref_hidden, ref_weight, _ = parts()
    log_p = linear(hidden.requires_grad_(), weight.requires_grad_()).log_softmax(-1)
    log_q = linear(ref_hidden, ref_weight).log_softmax(-1)
    return (log_p.exp() * (log_p - log_q)).sum(-1).mean()


WAYS: dict[str, Callable[[], torch.Tensor]] = {"estimate": estimate, "blocks": blocks, "whole": whole}


def measure(name: str) -> None:
    """Print seconds of a loss and its gradients, their median, and the MiB that they took above what is there."""
    WAYS[name]().backward()
    parts()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    before, taken = _memory("VmRSS"), []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        WAYS[name]().backward()
        taken.append(time.perf_counter() - start)
    print(f"{name:10} {statistics.median(taken):7.2f} s {_memory('VmHWM') - before:7.0f} MiB")


def _memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def spread(folder: Path) -> None:
    """Print mean and standard deviation of each estimate, and of the KL, over the tokens of a run's steps."""
    estimates = {"k1": "kl", "k2": "mse", "k3": "low_var_kl"}
    print(f"{'step':>4} {'tokens':>6} {'KL':>8} {'std':>7}" + "".join(f" {name:>8} {'std':>7}" for name in estimates))
    for path in sorted(folder.glob("step_*.pt"), key=lambda path: int(path.stem.split("_")[1])):
        saved = torch.load(path)
        mask = saved["response_mask"].bool()
        log_probs, ref_log_probs = (saved[name][mask].double() for name in ("old_log_probs", "ref_log_prob"))
        exact = saved["vocabulary_kl"][mask].double()
        columns = [exact, *(kl.penalty(log_probs, ref_log_probs, kind) for kind in estimates.values())]
        numbers = "".join(f" {float(column.mean()):8.5f} {float(column.std()):7.4f}" for column in columns)
        print(f"{path.stem.split('_')[1]:>4} {len(exact):6}{numbers}")


SETTINGS = {
    "kl": ["--kl_penalty", "kl"],
    "full": ["--kl_penalty", "full"],
    "kl in the loss": ["--kl_coef", "0", "--use_kl_loss", "--kl_loss_type", "kl"],
    "full in the loss": ["--kl_coef", "0", "--use_kl_loss", "--kl_loss_type", "full"],
}
PHASES = ("wall", "old_log_prob", "ref", "update_actor", "update_critic")


def steps(number: int, turns: int, large: bool) -> None:
    """Print a step's seconds by phase, medians over ``turns`` runs of each setting, that take turns."""
    with tempfile.TemporaryDirectory() as folder:
        given = ["--total_steps", str(number)]
        if large:
            words = [word for name, value in memory.LARGE.items() for word in (f"--{name}", value)]
            data = str(memory.data(Path(folder)))
            given += ["--model", str(memory.model(Path(folder) / "model")), "--no_reward_check", *words]
            given += ["--data", data, "--val_data", data]
        rows: dict[str, list[dict[str, float]]] = {name: [] for name in SETTINGS}
        for _ in range(turns):
            for name, setting in SETTINGS.items():
                rows[name] += record([*given, *setting])[0][FIRST - 1 :]
    print(f"| setting | {' | '.join(PHASES)} |\n|---|{'---|' * len(PHASES)}")
    for name, measured in rows.items():
        seconds = [statistics.median(row.get(f"timing_s/{phase}", 0.0) for row in measured) for phase in PHASES]
        print(f"| {name} | {' | '.join(f'{value:.2f}' for value in seconds)} |")


def main() -> None:
    """Measure; each way has a process of its own, as memory that one has freed is not given back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cost").add_argument("way", nargs="?", choices=WAYS)
    commands.add_parser("spread").add_argument("folder", type=Path)
    step = commands.add_parser("step")
    step.add_argument("--large", action="store_true", help="a model of SmolLM2-135M's shape, not the main job's")
    step.add_argument("--steps", type=int, default=8, help="of each run; the first two and the last are left out")
    step.add_argument("--turns", type=int, default=2, help="runs of each setting")
    arguments = parser.parse_args()
    if arguments.command == "step":
        steps(arguments.steps, arguments.turns, arguments.large)
    elif arguments.command == "spread":
        spread(arguments.folder)
    elif arguments.way:
        measure(arguments.way)
    else:
        print(f"{TOKENS} tokens, {HIDDEN} numbers each, {WORDS} words, {torch.get_num_threads()} threads, float32")
        for name in WAYS:
            subprocess.run([sys.executable, "-m", "tests.bench.kl", "cost", name], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()

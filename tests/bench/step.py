"""Where a step goes: seconds by phase and CPU seconds by process, medians over the steps of a run.

    .venv/bin/python -m tests.bench.step [--steps 12] [--verl|--bare] [train.sh arguments]

The work of the first row of docs/performance.md: builtin:tiny, 128 prompts, up to 8 new tokens, one update epoch.
CPU seconds hardly change with what else the machine does; seconds do.
"""

import argparse
import contextlib
import itertools
import json
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import psutil

from tests.bench.timeline import title
from tests.support.command import clean_environment
from trainer import ROOT

WORK = ["--ppo_epochs", "1", "--critic_epochs", "1", "--test_freq", "10000", "--save_freq", "10000"]
# What the kit has replaced in verl's step, as it is without the kit.
VERL = [
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class=null",
    "trainer.v1.sampler.custom_sampler.path=null",
    "trainer.v1.sampler.custom_sampler.name=null",
]
# And without the kit's trainer, loss and reward layer.
BARE = [
    *VERL,
    "trainer.v1.trainer_mode=sync",
    "actor_rollout_ref.actor.policy_loss.loss_mode=vanilla",
    f"reward.custom_reward_function.path={ROOT / 'tests' / 'bench' / 'bare.py'}",
    "reward.custom_reward_function.name=compute_score",
    "reward.reward_manager.source=register",
    "reward.reward_manager.name=naive",
]
FIRST = 3  # steps before it warm up
Cpu = dict[tuple[int, str], float]  # seconds by process


def cpu_seconds(root: psutil.Process) -> Cpu:
    """Return what each process of a run has used so far."""
    found: Cpu = {}
    with contextlib.suppress(psutil.Error):
        for process in root.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                found[process.pid, title(process)] = times.user + times.system
    return found


def record(arguments: list[str], **env: str) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Run ``train.sh``, with ``env`` too; return each step's metrics, and its CPU seconds by name of a process.

    The last step is left out: it validates and saves. To verl's metrics of time comes ``timing_s/wall``, from the end
    of the step before to this one's: verl's "step" ends before the metrics are computed and the samples written.
    """
    snapshots: list[tuple[float, Cpu]] = []
    with tempfile.TemporaryDirectory() as output:
        command = [str(ROOT / "train.sh"), *WORK, "--run_name", "step", *arguments]
        (Path(output) / "cache").symlink_to(ROOT / "outputs" / "cache")
        metrics = Path(output) / "runs" / "step" / "metrics.jsonl"
        with psutil.Popen(command, env=clean_environment(OUTPUT_DIR=output, **env), stdout=subprocess.DEVNULL) as run:
            while run.poll() is None:
                if metrics.exists() and metrics.read_bytes().count(b"timing_s/step") > len(snapshots):
                    snapshots.append((time.perf_counter(), cpu_seconds(run)))
                time.sleep(0.02)
        lines = [json.loads(line)["data"] for line in metrics.read_text().splitlines()]
    steps = [line for line in lines if "timing_s/step" in line]
    used = []
    for step, ((start, before), (end, after)) in zip(steps[1:], itertools.pairwise(snapshots), strict=False):
        step["timing_s/wall"] = end - start
        names: dict[str, float] = defaultdict(float)
        for (pid, name), now in after.items():
            names[name] += max(0.0, now - max((old for (same, _), old in before.items() if same == pid), default=0))
        used.append(dict(names))
    return steps[:-1], used[:-1]


def medians(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each value over the rows that have it; 0 where some lack it."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: statistics.median(row.get(name, 0.0) for row in rows) for name in names}


def main() -> None:
    """Run once; print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--verl", action="store_true", help="verl's own agent loop and replay buffer")
    parser.add_argument("--bare", action="store_true", help="its trainer, loss and reward manager too")
    options, arguments = parser.parse_known_args()
    theirs = BARE if options.bare else VERL if options.verl else []
    steps, used = record(["--total_steps", str(options.steps), *arguments, *theirs])
    phases = [{k.removeprefix("timing_s/"): v for k, v in row.items() if k.startswith("timing_s/")} for row in steps]
    for head, rows in (("Phase | seconds", phases[FIRST - 1 :]), ("Process | CPU seconds", used[FIRST - 2 :])):
        print(f"| {head} |\n|---|---|")
        found = medians(rows)
        if head.startswith("Process"):
            found = {"all": sum(found.values()), **dict(sorted(found.items(), key=lambda each: -each[1]))}
        for name, value in found.items():
            if value >= 0.005:
                print(f"| {name} | {value:.2f} |")
        print()


if __name__ == "__main__":
    main()

"""The whole kit on one GPU, unattended, in stages that each leave a log and a line of a table, whatever the others do.

    .venv/bin/python -m tests.bench.gpu_stages OUT [--only real,speed] [--gsm8k DIR] [--beside 2]

Stages of a group run ``--beside`` at a time, with a share of the GPU each; what is timed runs alone. OUT gets
``table.md``, ``memory.md``, a log for each stage, and ``runs.tgz`` with the files of the runs, without weights.
"""

import argparse
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from omegaconf import OmegaConf

from tests.support import reward_models
from tests.support.command import copy_of_the_kit
from trainer import ROOT
from trainer.checks.forecast.memory import PHASES, Part, kv_cache, of_rank, peaks
from trainer.checks.forecast.model import of_config
from trainer.checks.forecast.run import RunSize

GIB = 1 << 30
RUNS = ROOT / "outputs" / "runs"
SMOLLM2 = ("--model", "builtin:smollm2")
TINY = ("--model", "builtin:tiny")
SHORT = ("--total_steps", "10", "--test_freq", "10", "--save_freq", "10")
SHARE = ("--gpu_memory_utilization", "0.3", "--force")
# verl's names of the phases of a step, in their order, and the forecast's.
TIMED = {
    **{"gen": "rollout", "old_log_prob": "log-probs", "ref": "log-probs", "values": "log-probs", "adv": None},
    **{"update_critic": "critic update", "update_actor": "actor update"},
    **{"save_checkpoint": None, "update_weights": None},
}


@dataclass
class Stage:
    """A part of the walk: its commands one after the other, or a function of the stage's log."""

    name: str
    run: list[list[str]] | Callable[["Walk", Path], int]
    limit: float  # seconds
    beside: bool = False  # may share the GPU with others
    trained: str = ""  # the run of which its line tells
    memory: bool = False  # compare that run's with the forecast


def train(name: str, *arguments: str) -> list[str]:
    """Return the command of a run."""
    return [str(ROOT / "train.sh"), "--run_name", name, *arguments]


def bench(name: str, *arguments: str) -> list[str]:
    """Return the command of a benchmark."""
    return [sys.executable, "-m", f"tests.bench.{name}", *arguments]


@dataclass
class Walk:
    """What is written of all stages."""

    out: Path
    rows: list[tuple[str, str, float, str]] = field(default_factory=list)
    samples: list[tuple[float, int]] = field(default_factory=list)  # time, bytes in use on the GPU
    logged: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # run -> when a line came
    lock: threading.Lock = field(default_factory=threading.Lock)

    def command(
        self, words: list[str], log: Path, limit: float, until: Callable[[], bool] | None = None, **env: str
    ) -> int:
        """Run to the end, to ``limit`` seconds, or until ``until`` holds, then kill all of it; return the status."""
        with log.open("a") as file:
            file.write(f"$ {' '.join(words)}\n")
            file.flush()
            process = subprocess.Popen(
                words, cwd=ROOT, stdout=file, stderr=file, start_new_session=True, env=os.environ | env
            )
            end, reached = time.monotonic() + limit, False
            while process.poll() is None and time.monotonic() < end and not (reached := bool(until and until())):
                time.sleep(0.1)
            if process.poll() is not None:
                return process.returncode
            if not reached:  # late: first as Ctrl-C, so that Ray and vLLM end too
                os.killpg(process.pid, signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 0 if reached else 124

    def stage(self, stage: Stage) -> None:
        """Run a stage and write its line."""
        log, start = self.out / f"{stage.name}.log", time.monotonic()
        status = 0
        try:
            if callable(stage.run):
                status = stage.run(self, log)
            else:
                for words in stage.run:
                    left = stage.limit - (time.monotonic() - start)
                    status = status or self.command(words, log, left)
        except Exception as error:  # the other stages go on
            status = 1
            with log.open("a") as file:
                file.write(f"{type(error).__name__}: {error}\n")
        self.write(stage, status, time.monotonic() - start)

    def write(self, stage: Stage, status: int, seconds: float) -> None:
        """Add a line to the table, which is written anew."""
        says = {0: "ok", 124: "late"}.get(status, f"status {status}")
        with self.lock:
            self.rows.append((stage.name, says, seconds, result_of(stage)))
            head = "| Stage | Status | Seconds | Result |\n|---|---|---|---|\n"
            lines = [f"| {name} | {state} | {taken:.0f} | {what} |" for name, state, taken, what in self.rows]
            (self.out / "table.md").write_text(head + "\n".join(lines) + "\n")
            print(lines[-1], flush=True)
            if stage.memory and self.samples and not status:
                with (self.out / "memory.md").open("a") as file:
                    file.write(memory_table(stage.trained, self))

    def watch(self) -> None:
        """Sample the GPU's memory 25 times a second, and note when each run logs a step, while the process lives."""
        device = None
        with contextlib.suppress(Exception):  # no such module, or no driver: the CPU stack
            nvml = importlib.import_module("pynvml")
            nvml.nvmlInit()
            device = nvml.nvmlDeviceGetHandleByIndex(0)
        sizes: dict[Path, int] = {}
        while True:
            if device is not None:
                self.samples.append((time.time(), nvml.nvmlDeviceGetMemoryInfo(device).used))
            for path in RUNS.glob("*/metrics.jsonl"):
                if path.stat().st_size != sizes.get(path, 0):
                    sizes[path] = path.stat().st_size
                    self.logged[path.parent.name].append(time.time())
            time.sleep(0.04)


def lines_of(run: str) -> list[dict[str, float]]:
    """Return the metrics of a run's steps; a step that was done twice, as it was the last time."""
    path = RUNS / run / "metrics.jsonl"
    if not path.exists():
        return []
    steps: dict[int, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            steps.setdefault(row["step"], {}).update(row["data"])
    return [{"step": step, **steps[step]} for step in sorted(steps)]


def result_of(stage: Stage) -> str:
    """Return what the run of a stage came to: steps, rewards, held-out accuracy, seconds a step."""
    rows = lines_of(stage.trained)
    if not rows:
        return ""
    held_out = [(row["step"], v) for row in rows for k, v in row.items() if k.startswith("val-core") and "acc" in k]
    rewards = [row["reward_mean"] for row in rows if "reward_mean" in row]
    seconds = sorted(row["timing_s/step"] for row in rows if "timing_s/step" in row)
    said = [f"{len(rewards)} steps"]
    if rewards:
        said.append(f"reward {rewards[0]:.3f} to {rewards[-1]:.3f}, {seconds[len(seconds) // 2]:.2f} s a step (median)")
    if held_out:
        said.append("held out " + ", ".join(f"{value:.1%} at {step:.0f}" for step, value in held_out))
    return "; ".join(said)


def measured_peaks(run: str, walk: Walk) -> dict[str, int]:
    """Return the most bytes in use on the GPU in each phase of the forecast, of the steps that only train.

    A step is logged right after its end; how long its phases took is in its metrics.
    """
    found: dict[str, int] = defaultdict(int)
    for row, end in zip(lines_of(run), walk.logged[run], strict=False):
        at = end - 0.05
        if row["step"] < 2 or "timing_s/testing" in row:
            continue
        for name, phase in reversed(TIMED.items()):
            start = at - row.get(f"timing_s/{name}", 0.0)
            if phase:
                found[phase] = max([found[phase], *(used for when, used in walk.samples if start < when < at - 0.05)])
            at = start
    return found


def memory_table(run: str, walk: Walk) -> str:
    """Return the forecast of a run beside what was measured, by phase."""
    folder = RUNS / run
    config = OmegaConf.load(folder / "config.yaml")
    model = of_config(json.loads((Path(config.actor_rollout_ref.model.path) / "config.json").read_text()))
    assert model is not None
    size = RunSize.of_config(config)
    parts = of_rank(model, size)
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    parts.append(Part("KV cache", (max(0, kv_cache(model, size, total)), 0, 0, 0)))
    foretold, measured = peaks(parts), measured_peaks(run, walk)
    text = f"\n{run}\n\n| Phase | Forecast, GiB | Measured, GiB | Off by |\n|---|---|---|---|\n"
    for phase in PHASES:
        if measured.get(phase):
            off = foretold[phase] / measured[phase] - 1
            text += f"| {phase} | {foretold[phase] / GIB:.2f} | {measured[phase] / GIB:.2f} | {off:+.0%} |\n"
    return text


def killed(walk: Walk, log: Path) -> int:
    """Train SmolLM2, kill it at step 9, after the checkpoint of 8; go on to the end; evaluate what is exported."""
    words = train("real", *SMOLLM2, "--total_steps", "24", "--test_freq", "8", "--save_freq", "8")
    if status := walk.command(words, log, 240, until=lambda: any(row["step"] >= 9 for row in lines_of("real"))):
        return status
    status = walk.command(words, log, 240)
    if "continuing after step 8" not in log.read_text():
        return status or 1
    return status or walk.command([str(ROOT / "train.sh"), "eval", "real"], log, 150)


def composite(walk: Walk, log: Path) -> int:
    """Rules and a reward model that vLLM serves on the policy's GPU, which sleeps while the policy trains."""
    with tempfile.TemporaryDirectory() as folder:
        kit = copy_of_the_kit(Path(folder) / "kit")
        section = {"enable": True, "weights": {"rule_score": 0.7, "rm_score": 0.3}}
        (kit / "config" / "reward_model_config.yaml").write_text(yaml.safe_dump({"composite_reward": section}))
        model = str(reward_models.skywork_qwen3(Path(folder) / "reward_model"))
        words = [*TINY, *SHORT, "--reward_model", model, "--rm_engine", "vllm", "--rm_gpus", "0", *SHARE]
        command = [str(kit / "train.sh"), "--run_name", "composite", *words]
        return walk.command(command, log, 240, OUTPUT_DIR=str(ROOT / "outputs"), VENV=sys.prefix)


def stages(options: argparse.Namespace) -> list[Stage]:
    """Return all stages in their order."""
    smollm2 = [*SMOLLM2, *SHORT]
    lake = [*TINY, "--env", "frozenlake", *SHORT, *SHARE]
    gsm8k = [*SMOLLM2, "--data", f"{options.gsm8k}/train.jsonl", "--val_data", f"{options.gsm8k}/test.jsonl"]
    long = ["--max_response_length", "256", "--total_steps", "20", "--batch_size", "256", "--mini_batch_size", "64"]
    return [
        Stage("check", [[str(ROOT / "train.sh"), "check", *SMOLLM2]], 90),
        Stage("varlen", [bench("varlen")], 90),
        Stage("tiny", [train("tiny", *TINY, "--total_steps", "4")], 300, trained="tiny", memory=True),
        Stage("real", killed, 500, trained="real"),
        Stage("lora", [train("lora", *smollm2, *SHARE, "--lora_rank", "16")], 240, True, "lora"),
        Stage("offload", [train("offload", *smollm2, *SHARE, "--offload", "all")], 240, True, "offload"),
        Stage("environment", [train("environment", *lake)], 240, True, "environment"),
        Stage("composite", composite, 240, True, "composite"),
        Stage("speed", [bench("gpu", "--rounds", "1", "--steps", "5")], 400),
        *[Stage("gsm8k", [train("gsm8k", *gsm8k, *long)], 300, trained="gsm8k", memory=True)] * bool(options.gsm8k),
    ]


def pack(out: Path) -> None:
    """Put the runs' files into one archive, without the samples' texts of every step."""
    with tarfile.open(out / "runs.tgz", "w:gz") as archive:
        for path in sorted(RUNS.glob("*/*")):
            if path.is_file() and path.stat().st_size < 4 << 20:
                archive.add(path, path.relative_to(ROOT / "outputs"))


def main() -> None:
    """Run the stages that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="names of stages, by commas")
    parser.add_argument("--gsm8k", help="a folder with train.jsonl and test.jsonl")
    parser.add_argument("--beside", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    walk = Walk(options.out.resolve())
    threading.Thread(target=walk.watch, daemon=True).start()
    asked = [stage for stage in stages(options) if stage.name in (options.only or stage.name).split(",")]
    with ThreadPoolExecutor(options.beside) as pool:
        group: list[Stage] = []
        for stage in [*asked, None]:
            if stage is not None and stage.beside:
                group.append(stage)
                continue
            list(pool.map(walk.stage, group))
            group = []
            if stage is not None:
                walk.stage(stage)
    pack(options.out)


if __name__ == "__main__":
    main()

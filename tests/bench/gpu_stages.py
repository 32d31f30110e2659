"""The whole kit on one GPU, unattended, in stages that each leave a log and a line of a table, whatever the others do.

    .venv/bin/python -m tests.bench.gpu_stages OUT [--only real,speed] [--gsm8k DIR] [--beside 4]

Runs share the GPU, ``--beside`` at a time; what is timed runs alone, after them. OUT gets ``table.md``, ``speed.md``,
``memory.md``, a log for each stage, and ``runs.tgz`` with the files of the runs, without weights.
"""

import argparse
import contextlib
import importlib
import os
import shutil
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

from tests.bench import gpu, step
from tests.bench.gpu_memory import RUNS, lines_of, memory_table
from tests.support import reward_models
from trainer import ROOT

SMOLLM2 = ("--model", "builtin:smollm2")
TINY = ("--model", "builtin:tiny")
SHORT = ("--total_steps", "10", "--test_freq", "10", "--save_freq", "10")
# Of the GPU's memory, a part: vLLM measures nothing where others come and go.
CACHE = "+actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_memory_bytes=4294967296"
SHARE = ("--gpu_memory_utilization", "0.08", "--force", CACHE)


@dataclass
class Stage:
    """A part of the walk: its commands one after the other, or a function of the stage's log."""

    name: str
    run: list[list[str]] | Callable[["Walk", Path], int]
    limit: float  # seconds
    beside: bool = False  # may share the GPU with others
    trained: str = ""  # the run of which its line tells


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


def killed(walk: Walk, log: Path) -> int:
    """Train SmolLM2, kill it at step 9, after the checkpoint of 8; go on to the end; evaluate what is exported."""
    words = train("real", *SMOLLM2, "--total_steps", "24", "--test_freq", "8", "--save_freq", "8", *SHARE)
    if status := walk.command(words, log, 450, until=lambda: any(row["step"] >= 9 for row in lines_of("real"))):
        return status
    status = walk.command(words, log, 450)
    if "continuing after step 8" not in log.read_text():
        return status or 1
    return status or walk.command([str(ROOT / "train.sh"), "eval", "real"], log, 300)


def composite(walk: Walk, log: Path) -> int:
    """Rules and a reward model that vLLM serves on the policy's GPU, which sleeps while the policy trains."""
    with tempfile.TemporaryDirectory() as folder:
        kit = Path(folder) / "kit"
        shutil.copytree(ROOT, kit, ignore=shutil.ignore_patterns(".*", "outputs", "__pycache__"))
        section = {"enable": True, "weights": {"rule_score": 0.7, "rm_score": 0.3}}
        (kit / "config" / "reward_model_config.yaml").write_text(yaml.safe_dump({"composite_reward": section}))
        model = str(reward_models.skywork_qwen3(Path(folder) / "reward_model"))
        words = [*TINY, *SHORT, "--reward_model", model, "--rm_engine", "vllm", "--rm_gpus", "0", *SHARE]
        command = [str(kit / "train.sh"), "--run_name", "composite", *words]
        return walk.command(command, log, 480, OUTPUT_DIR=str(ROOT / "outputs"), VENV=sys.prefix)


def speed(walk: Walk, log: Path) -> int:
    """Train the shape of Qwen2.5-0.5B with the kit's defaults and as verl's example does; write both tables."""
    weights = gpu.make_model("0.5B", walk.out / "speed")
    found: dict[str, dict[str, float]] = {}
    for name, words in gpu.commands(weights, walk.out / "speed", False, 6).items():
        run = name.replace("'", "").replace(" ", "-")
        status = walk.command(train(run, *step.WORK, *words), log, 480, **gpu.ENGINES[name])
        timed = [
            row for row in lines_of(run)[step.FIRST - 1 :] if "timing_s/step" in row and "timing_s/testing" not in row
        ]
        if status or not timed:
            return status or 1
        found[name] = step.medians(timed)
        if walk.samples:
            with (walk.out / "memory.md").open("a") as file:
                file.write(memory_table(run, walk.samples, walk.logged[run]))
    (walk.out / "speed.md").write_text(gpu.table(found, gpu.count(weights), gpu.PEAK) + "\n")
    return 0


def stages(options: argparse.Namespace) -> list[Stage]:
    """Return all stages in their order."""
    smollm2, lake = [*SMOLLM2, *SHORT, *SHARE], [*TINY, "--env", "frozenlake", *SHORT, *SHARE]
    gsm8k = [*SMOLLM2, "--data", f"{options.gsm8k}/train.jsonl", "--val_data", f"{options.gsm8k}/test.jsonl", *SHARE]
    long = ["--max_response_length", "256", "--batch_size", "512", "--mini_batch_size", "128", "--kl_coef", "0.002"]
    long += ["--total_steps", "80", "--test_freq", "20", "--save_freq", "20"]
    return [
        Stage("check", [[str(ROOT / "train.sh"), "check", *SMOLLM2]], 90),
        Stage("varlen", [bench("varlen")], 90),
        *[Stage("gsm8k", [train("gsm8k", *gsm8k, *long)], 900, True, "gsm8k")] * bool(options.gsm8k),
        Stage("real", killed, 500, True, "real"),
        Stage("lora", [train("lora", *smollm2, "--lora_rank", "16")], 480, True, "lora"),
        Stage("offload", [train("offload", *smollm2, "--offload", "all")], 480, True, "offload"),
        Stage("tiny", [train("tiny", *TINY, "--total_steps", "30", *SHARE)], 480, True, "tiny"),
        Stage("environment", [train("environment", *lake)], 480, True, "environment"),
        Stage("composite", composite, 480, True, "composite"),
        Stage("speed", speed, 600),
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
    parser.add_argument("--beside", type=int, default=4)
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

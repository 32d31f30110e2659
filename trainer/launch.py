"""Start verl for one run, follow it, and end it: folders, environment, processes."""

import dataclasses
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from reward import json_text
from trainer import ROOT, checkpoints, lock, processes, remembered, resume, reward_check, reward_place
from trainer.failure import describe, why_stopped
from trainer.preflight import Plan
from trainer.progress import Progress
from trainer.settings import Settings, UserError, as_env

LOCK_WAIT = 30.0  # seconds, until the processes of a launcher that was killed have ended


class Stopped(BaseException):
    """The run was asked to end by a signal."""

    def __init__(self, signum: int) -> None:
        self.signum = signum
        super().__init__(signal.Signals(signum).name)


class Paused(Exception):
    """The run saved its state and ended by itself, before its last step; the message says why."""


class RunFailed(Exception):
    """verl ended with an error; the message is what the person reads."""


@dataclass(frozen=True)
class Run:
    """The folders of one run."""

    name: str
    folder: Path  # config.yaml, train.log, metrics.jsonl, rollouts/, summary.json, report.html
    checkpoints: Path  # global_step_N/ and, when it is over, model/

    def make_folders(self, settings: Settings) -> int:
        """Make the run's folders, or take those of the run that goes on; return the lock that says they are in use.

        Raises:
            UserError: somebody trains in them.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        held = lock.take(self.folder / "lock", LOCK_WAIT)
        if held is None:
            raise UserError(f"--run_name {self.name}: this run is being trained; take another name, or end that one")
        given = {env: settings.values[env] for env in settings.given}
        texts = {env: "none" if value is None else as_env(value) for env, value in given.items()}
        remembered.write(self.folder, texts, settings.overrides)
        return held

    @property
    def model(self) -> Path:
        """The exported model."""
        return self.checkpoints / "model"


def new_run(settings: Settings) -> Run:
    """Name the run; its folders are made by ``make_folders``, when nothing can be wrong any more.

    Raises:
        UserError: it cannot have that name.
    """
    name = resume.name(settings)
    if name == "auto":
        model, data = (settings.text(env).removeprefix("builtin:") for env in ("MODEL_PATH", "DATA"))
        parts = [Path(model).name, Path(data).stem, time.strftime("%Y%m%d-%H%M%S")]
        name = "-".join(parts[:2] if settings.dry_run else parts)
    if Path(name).name != name or name in (".", ".."):
        raise UserError(f"--run_name {name!r}: a name of one folder, without slashes")
    output = settings.output
    folder = output / ("dry_runs" if settings.dry_run else "runs") / name
    return Run(name, folder, output / "checkpoints" / name)


def environment(settings: Settings, plan: Plan, run: Run, tmp: Path) -> dict[str, str]:
    """Return the env vars that ``config/*.yaml`` reads: all knobs, and what follows from them."""
    loggers = [*str(settings.environment()["LOGGER"]).split(","), "file"]
    total, steps = plan.total_steps(settings), plan.steps_per_epoch(settings)
    length = settings.integer("MAX_PROMPT_LENGTH") + settings.integer("MAX_RESPONSE_LENGTH")
    model = reward_place.environment(settings, plan.reward_model)
    judge, resumed = "", resume.place(settings)[0] if settings.text("RESUME") else ""
    if plan.judge:
        judge = dataclasses.replace(plan.judge, run=run.name, resumed=resumed).to_json()
    return settings.environment() | {
        "RUN_NAME": run.name,
        "KIT_ROOT": str(ROOT),
        "KIT_TMP": str(tmp),
        "KIT_MODEL": plan.model.path,
        "KIT_TRAIN_FILE": str(plan.train_file),
        "KIT_VAL_FILE": str(plan.val_file),
        "KIT_CHECKPOINTS": str(run.checkpoints),
        "KIT_ROLLOUTS": str(run.folder / "rollouts"),
        "KIT_LOGGERS": f"[{','.join(loggers)}]",
        "KIT_TOTAL_STEPS": "null" if total is None else str(total),
        "KIT_EPOCHS": str(_epochs(plan, total, steps) or settings.integer("EPOCHS")),
        "KIT_MODEL_LENGTH": str(max(length, 128)),  # vLLM's KV cache comes in blocks of 128 tokens
        "KIT_BUCKET_MB": str(plan.bucket_mb),
        "KIT_RESUME": str(plan.start.checkpoint or ""),
        "KIT_VALIDATE_FIRST": str(not _is_validated(plan, run)).lower(),
        "KIT_REWARD_FN": reward_check.reward_fn(settings),
        "KIT_REWARD_KEYS": f"[{','.join(map(hydra_text, plan.reward_keys))}]",
        "KIT_COMPOSITE": json_text.dumps(reward_check.composite(settings, judge, model["KIT_REWARD_MODEL"])),
        "KIT_JUDGE": judge,
        **model,
    }


def _epochs(plan: Plan, total: int | None, steps: int | None) -> int | None:
    """Return as many epochs as the steps take: verl ends with either, and saves only at the last step."""
    return -(-total // steps) + (not plan.exact) if total is not None and steps else None


def _is_validated(plan: Plan, run: Run) -> bool:
    """Whether the run goes on from a step whose validation it has, or that has none."""
    return plan.start.again and plan.start.step > 0 and resume.validated(run.folder / "metrics.jsonl", plan.start.step)


def engine_environment(settings: Settings, run: Run, tmp: Path) -> dict[str, str]:
    """Return what the engine is told by env vars, beside the person's own environment."""
    engine = {
        "HYDRA_FULL_ERROR": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "TMPDIR": str(tmp),
        "TOKENIZERS_PARALLELISM": "false",
        "VERL_FILE_LOGGER_PATH": str(run.folder / "metrics.jsonl"),
        "TENSORBOARD_DIR": str(run.folder / "tensorboard"),
        "VLLM_NO_USAGE_STATS": "1",
    }
    if settings.text("DEVICE") == "cpu":
        threads = max(1, len(os.sched_getaffinity(0)) // settings.integer("N_GPUS"))
        engine |= {
            "VERL_PLATFORM": "cpu",
            "VERL_ENGINE_DEVICE": "cuda",  # verl registers its FSDP engine for "cuda" and "npu" only
            "OMP_NUM_THREADS": str(threads),
            "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # replicas share the cores with the actor
        }
    return engine


def process_environment(settings: Settings, run: Run, tmp: Path) -> dict[str, str]:
    """Return the whole environment of verl's processes."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("KIT_", "RAY_ADDRESS"))}
    if settings.text("DEVICE") == "cpu":
        inherited.pop("CUDA_VISIBLE_DEVICES", None)  # Ray would count it against its slots
    if settings.text("REWARD_FN"):  # a module of the person's, wherever Ray's workers run
        inherited["PYTHONPATH"] = os.pathsep.join(filter(None, [inherited.get("PYTHONPATH"), str(Path.cwd())]))
    return inherited | engine_environment(settings, run, tmp)


def command(run: Run) -> list[str]:
    """Return the command that starts verl."""
    return [
        sys.executable,
        "-m",
        "verl.trainer.main_ppo",
        f"--config-path={run.folder}",
        "--config-name=config",
        f"hydra.run.dir={hydra_text(str(run.folder))}",
        "hydra.output_subdir=null",
        "hydra/job_logging=stdout",
    ]


def hydra_text(text: str) -> str:
    """Quote ``text`` for Hydra's grammar, whatever is in it."""
    if re.fullmatch(r"[\w./-]+", text, re.ASCII):
        return text
    text = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), text)
    return "'" + text.replace("${", "\\${") + "'"


def write_command(settings: Settings, run: Run, tmp: Path) -> str:
    """Write the exact command, with the env vars that it needs, to ``command.txt``, and return it."""
    words = ["env", *(f"{key}={value}" for key, value in engine_environment(settings, run, tmp).items()), *command(run)]
    text = shlex.join(words)
    (run.folder / "command.txt").write_text(text + "\n", encoding="utf-8")
    return text


def train(settings: Settings, run: Run, progress: Progress, tmp: Path, held: int, each: Callable[[], None]) -> None:
    """Run verl to its end, calling ``each`` twice a second.

    Raises:
        RunFailed: verl ended with an error, or an alarm of ``--stop_on`` was raised.
        Paused: the run saved and stopped by itself.
        Stopped: from the signal handler; the caller ends the processes.
    """
    stop_on = settings.values["STOP_ON"]
    assert isinstance(stop_on, list)
    with progress.log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "trainer.guard", str(tmp), *command(run)],
            stdin=subprocess.PIPE,  # that it ends tells the guard that this process has ended
            stdout=output,
            stderr=subprocess.STDOUT,
            env=process_environment(settings, run, tmp),
            start_new_session=True,  # Ctrl-C reaches this process alone, which ends the others in order
            pass_fds=[held],  # the lock of its folder,
        )
        while process.poll() is None:
            time.sleep(0.5)
            progress.follow()
            each()
            for alarm in progress.alarms:
                if alarm.name in stop_on:
                    raise RunFailed(f"ended at step {alarm.step} by --stop_on {alarm.name}: {alarm.cause}{_saved(run)}")
    progress.follow()
    if process.returncode:
        text = progress.log_text()
        why = why_stopped(text)
        if why is not None:
            raise Paused(f"{why}; the run is saved: the same command with --resume {run.name} goes on")
        raise RunFailed(describe(text, process.returncode, str(progress.log)))


def _saved(run: Run) -> str:
    checkpoint = checkpoints.latest(run.checkpoints)
    if checkpoint is None:
        return "; there is no checkpoint yet"
    return f"; --resume {run.name} goes on from {checkpoint.name}"


def export(run: Run, checkpoint: Path | None = None, target: Path | None = None) -> Path:
    """Export a checkpoint (the folder of a step), the last one if none is named; return the folder.

    Raises:
        RunFailed: there is no checkpoint, or it cannot be exported.
    """
    checkpoint = checkpoint or checkpoints.latest(run.checkpoints)
    target = target or run.model
    if checkpoint is None:
        raise RunFailed(f"the run left no checkpoint in {run.checkpoints}")
    log = run.folder / "export.log"
    with log.open("wb") as output:
        status = subprocess.call(
            [sys.executable, "-m", "trainer.export", str(checkpoint / "actor"), str(target), str(run.folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    if status:
        raise RunFailed("export: " + describe(log.read_text(encoding="utf-8", errors="replace"), status, str(log)))
    return target


def temporary_folder() -> Path:
    """Make the run's own folder for sockets and Ray's session; in /tmp, as a socket's path has 107 bytes at most."""
    return Path(tempfile.mkdtemp(prefix="ppo-kit-", dir="/tmp"))


def on_signals() -> None:
    """Turn Ctrl-C and SIGTERM into ``Stopped``, once: the clean-up is not interrupted."""

    def handle(signum: int, frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(signum)

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, handle)


def clean_up(tmp: Path | None, traces: processes.Traces) -> None:
    """End every process of the run, and remove what they left outside the run's folders."""
    processes.end_all(traces)
    if tmp is not None:
        shutil.rmtree(tmp, ignore_errors=True)

"""Start verl for one run, follow it, and end it: folders, environment, processes."""

import json
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

from trainer import ROOT, judge, processes, reward_check, reward_place
from trainer.cpu import forked
from trainer.cpu.fork_client import STAND_IN
from trainer.export import latest
from trainer.failure import describe, why_stopped
from trainer.preflight import Plan
from trainer.progress import Progress
from trainer.settings import Settings, UserError


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

    def make_folders(self) -> None:
        """Make the run's folders.

        Raises:
            UserError: another run took the name meanwhile.
        """
        try:
            self.folder.mkdir(parents=True)
            self.checkpoints.mkdir(parents=True)
        except FileExistsError as error:
            raise UserError(f"--run_name {self.name}: {error.filename} is there already; take another name") from None

    @property
    def model(self) -> Path:
        """The exported model."""
        return self.checkpoints / "model"


def new_run(settings: Settings) -> Run:
    """Name the run; its folders are made by ``make_folders``, when nothing can be wrong any more.

    Raises:
        UserError: a run of that name exists.
    """
    name = settings.text("RUN_NAME")
    if name == "auto":
        model, data = (settings.text(env).removeprefix("builtin:") for env in ("MODEL_PATH", "DATA"))
        parts = [Path(model).name, Path(data).stem, time.strftime("%Y%m%d-%H%M%S")]
        name = "-".join(parts[:2] if settings.dry_run else parts)
    if Path(name).name != name or name in (".", ".."):
        raise UserError(f"--run_name {name!r}: a name of one folder, without slashes")
    output = settings.output
    if settings.dry_run:
        return Run(name, output / "dry_runs" / name, output / "checkpoints" / name)
    run = Run(name, output / "runs" / name, output / "checkpoints" / name)
    if run.folder.exists() or run.checkpoints.exists():
        raise UserError(f"--run_name {name}: there is such a run in {output}; take another name, or remove that one")
    return run


def environment(settings: Settings, plan: Plan, run: Run, tmp: Path) -> dict[str, str]:
    """Return the env vars that ``config/*.yaml`` reads: all knobs, and what follows from them."""
    loggers = [*str(settings.environment()["LOGGER"]).split(","), "file"]
    total, steps = plan.total_steps(settings), plan.steps_per_epoch(settings)
    length = settings.integer("MAX_PROMPT_LENGTH") + settings.integer("MAX_RESPONSE_LENGTH")
    model = reward_place.environment(settings, plan.reward_model)
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
        "KIT_RESUME": str(plan.resume_from or ""),
        "KIT_REWARD_FN": reward_check.reward_fn(settings),
        "KIT_REWARD_KEYS": f"[{','.join(map(hydra_text, plan.reward_keys))}]",
        "KIT_COMPOSITE": _json(reward_check.composite(settings, run.name, model["KIT_REWARD_MODEL"])),
        "KIT_JUDGE": judge.config(settings, run.name).to_json() if judge.is_used(settings) else "",
        **model,
    }


def _epochs(plan: Plan, total: int | None, steps: int | None) -> int | None:
    """Return as many epochs as the steps take: verl ends with either, and saves only at the last step."""
    return -(-total // steps) + (not plan.exact) if total is not None and steps else None


def _json(value: object) -> str:
    """Return ``value`` as JSON in which nothing looks like an interpolation, whatever it holds."""
    return json.dumps(value, ensure_ascii=False).replace("$", "\\u0024")


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
    return engine | device_environment(settings)


def device_environment(settings: Settings) -> dict[str, str]:
    """Return what tells the engine of the device."""
    if settings.text("DEVICE") != "cpu":
        return {}
    return {
        "VERL_PLATFORM": "cpu",
        "VERL_ENGINE_DEVICE": "cuda",  # verl registers its FSDP engine for "cuda" and "npu" only
        "OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // settings.integer("N_GPUS"))),
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # replicas share the cores with the actor
    }


def inherited_environment(settings: Settings) -> dict[str, str]:
    """Return the person's environment as verl's processes shall have it."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("KIT_", "RAY_ADDRESS"))}
    if settings.text("DEVICE") == "cpu":
        inherited.pop("CUDA_VISIBLE_DEVICES", None)  # Ray would count it against its slots
    if settings.text("REWARD_FN"):  # a module of the person's, wherever Ray's workers run
        inherited["PYTHONPATH"] = os.pathsep.join(filter(None, [inherited.get("PYTHONPATH"), str(Path.cwd())]))
    return inherited


def fork_server(settings: Settings, tmp: Path) -> Path | None:
    """Start the fork server where there is one; return the script by which the run's processes come from it.

    On CUDA there is none: verl asks CUDA for its devices when it is imported, and a fork could not use it any more.
    """
    if settings.text("DEVICE") != "cpu":
        return None
    return forked.start(tmp, inherited_environment(settings) | device_environment(settings))


def command(run: Run, python: Path | None = None) -> list[str]:
    """Return the command that starts verl; ``python`` is what ``fork_server`` returned."""
    return [
        str(python or sys.executable),
        "-m",
        "verl.trainer.main_ppo",
        f"--config-path={run.folder}",
        "--config-name=config",
        f"hydra.run.dir={hydra_text(str(run.folder))}",
        "hydra.output_subdir=null",
        "hydra/job_logging=stdout",
        *([f"ray_kwargs.ray_init.runtime_env.py_executable={hydra_text(shlex.quote(str(python)))}"] if python else []),
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


def train(
    settings: Settings, run: Run, progress: Progress, tmp: Path, python: Path | None, each: Callable[[], None]
) -> None:
    """Run verl to its end, calling ``each`` twice a second; ``python`` is what ``fork_server`` returned.

    Raises:
        RunFailed: verl ended with an error, or an alarm of ``--stop_on`` was raised.
        Paused: the run saved and stopped by itself.
        Stopped: from the signal handler; the caller ends the processes.
    """
    stop_on = settings.values["STOP_ON"]
    assert isinstance(stop_on, list)
    with progress.log.open("wb") as output:
        process = subprocess.Popen(
            command(run, python),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=inherited_environment(settings)
            | engine_environment(settings, run, tmp)
            | {STAND_IN: str(python or "")},
            start_new_session=True,  # Ctrl-C reaches this process alone, which ends the others in order
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
        text = progress.log.read_text(encoding="utf-8", errors="replace")
        why = why_stopped(text)
        if why is not None:
            raise Paused(f"{why}; the run is saved: the same command with --resume {run.name} goes on")
        raise RunFailed(describe(text, process.returncode, str(progress.log)))


def _saved(run: Run) -> str:
    checkpoint = latest(run.checkpoints)
    if checkpoint is None:
        return "; there is no checkpoint yet"
    return f"; --resume {run.name} goes on from {checkpoint.parent.name}"


def export(run: Run, checkpoint: Path | None = None, target: Path | None = None) -> Path:
    """Export a checkpoint (the actor's folder), the last one if none is named; return the folder.

    Raises:
        RunFailed: there is no checkpoint, or it cannot be exported.
    """
    checkpoint = checkpoint or latest(run.checkpoints)
    target = target or run.model
    if checkpoint is None:
        raise RunFailed(f"the run left no checkpoint in {run.checkpoints}")
    log = run.folder / "export.log"
    with log.open("wb") as output:
        status = subprocess.call(
            [sys.executable, "-m", "trainer.export", str(checkpoint), str(target), str(run.folder)],
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

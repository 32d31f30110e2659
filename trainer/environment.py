"""The env vars of a run: those that ``config/*.yaml`` reads, and those of verl's processes."""

import dataclasses
import os
import re
import socket
import sys
from pathlib import Path

from reward import json_text
from trainer import (
    ROOT,
    attention,
    cpu,
    failure,
    loopback,
    resume,
    reward_check,
    reward_place,
    run_secret,
    surroundings,
)
from trainer.cluster import token
from trainer.cpu.fork_client import STAND_IN
from trainer.folders import Run
from trainer.preflight import Plan
from trainer.settings import Settings

# A library that vLLM imports sets the root logger to this, else to ERROR: what the kit warns of would reach no log.
WARNINGS = {"SAGEMAKER_CONTAINER_LOG_LEVEL": "WARNING"}


def of_config(settings: Settings, plan: Plan, run: Run, tmp: Path) -> dict[str, str]:
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
        "KIT_FLASH": "true" if attention.has_flash() else "",
        "KIT_MODEL_LENGTH": str(length),
        "KIT_BUCKET_MB": str(plan.bucket_mb),
        "KIT_RESUME": str(plan.start.checkpoint or ""),
        "KIT_VALIDATE_FIRST": str(settings.integer("TEST_FREQ") > 0 and not _is_validated(plan, run)).lower(),
        "KIT_REWARD_FN": reward_check.reward_fn(settings),
        "KIT_REWARD_KEYS": f"[{','.join(map(hydra_text, plan.reward_keys))}]",
        "KIT_RAY": ray_address(settings),
        "KIT_RAY_NODE": ray_node(settings),
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


def starts_ray(settings: Settings) -> bool:
    """Whether the kit starts Ray itself, on several machines; on one, verl starts it."""
    return settings.integer("NNODES") > 1 and not settings.text("RAY_ADDRESS")


def ray_address(settings: Settings) -> str:
    """Return the address of the Ray cluster that verl finds; empty where it starts one."""
    if starts_ray(settings):
        return f"{head_address(settings)}:{settings.integer('MASTER_PORT') + 1}"
    return settings.text("RAY_ADDRESS")


def alone(settings: Settings) -> bool:
    """Whether all processes of the run are on this machine, where verl starts Ray for them."""
    return settings.integer("NNODES") == 1 and not settings.text("RAY_ADDRESS")


def ray_node(settings: Settings) -> str:
    """Return the address that Ray and all of the run bind on machine 0; empty where Ray runs already."""
    return loopback.ADDRESS if alone(settings) else head_address(settings) if starts_ray(settings) else ""


def head_address(settings: Settings) -> str:
    """Return machine 0's own address; by its name it often finds 127.0.1.1, where no other machine reaches it."""
    name = settings.text("NODE_ADDR") or settings.text("MASTER_ADDR")
    if settings.dry_run or re.fullmatch(r"[\d.]+|.*:.*|localhost", name):
        return name
    try:
        found = socket.gethostbyname(name)
    except OSError:
        return name
    return surroundings.node_address() if found.startswith("127.") else found


def of_node(settings: Settings, run: Run, tmp: Path, python: Path | None, secret: str) -> dict[str, str]:
    """Return the whole environment of the run's processes on this machine.

    ``python`` is the script that asks the fork server for a process, where there is one; ``secret`` is the run's.
    """
    own = {STAND_IN: str(python or sys.executable)}
    if not settings.text("RAY_ADDRESS"):  # there, Ray's processes have environments of their own
        own |= run_secret.environment(secret)
    return of_person(settings) | of_engine(settings, run, tmp) | _ray_token(settings, secret) | own


def _ray_token(settings: Settings, secret: str) -> dict[str, str]:
    """Return what tells Ray whether to ask for a token, and which: where the kit starts Ray, it is the run's own."""
    insecure = settings.values["INSECURE_RAY"] is True
    if not settings.text("RAY_ADDRESS"):
        insecure = insecure and not alone(settings)  # the others of one machine can be kept out at no cost
        own = {} if insecure else {token.TOKEN: run_secret.derive(secret, "Ray").hex()}
        return token.mode(insecure) | own
    if token.MODE not in os.environ:  # a client that says nothing has none
        return token.mode(insecure or not token.find(os.environ))
    return {}


def of_engine(settings: Settings, run: Run, tmp: Path) -> dict[str, str]:
    """Return what the engine is told by env vars, beside the person's own environment."""
    own = {
        "HYDRA_FULL_ERROR": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS_ALLOW_REGEX": failure.KEPT,
        "TMPDIR": str(tmp),
    }
    return own | (loopback.ENVIRONMENT if alone(settings) else {}) | of_workers(settings, run)


def of_workers(settings: Settings, run: Run) -> dict[str, str]:
    """Return of these what verl's processes must have wherever they are, also where the kit has not started Ray."""
    engine = {
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "TRUST_CHECKPOINT": str(settings.values["TRUST_CHECKPOINT"] is True).lower(),
        "VERL_FILE_LOGGER_PATH": str(run.folder / "metrics.jsonl"),
        "TENSORBOARD_DIR": str(run.folder / "tensorboard"),
        "VLLM_NO_USAGE_STATS": "1",
    }
    return engine | of_device(settings)


def of_device(settings: Settings) -> dict[str, str]:
    """Return what tells the engine of the device."""
    if settings.text("DEVICE") != "cpu":
        return dict(WARNINGS)
    return {
        **WARNINGS,
        **cpu.ENVIRONMENT,
        "VERL_PLATFORM": "cpu",
        "VERL_ENGINE_DEVICE": "cuda",  # verl registers its FSDP engine for "cuda" and "npu" only
        "OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // settings.integer("N_GPUS"))),
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "TORCHINDUCTOR_CACHE_DIR": str(settings.output.resolve() / "cache" / "inductor"),  # C++ that vLLM has compiled
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # replicas share the cores with the actor
    }


def of_person(settings: Settings) -> dict[str, str]:
    """Return the person's environment as verl's processes shall have it."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("KIT_", "RAY_ADDRESS"))}
    if settings.text("DEVICE") == "cpu":
        inherited.pop("CUDA_VISIBLE_DEVICES", None)  # Ray would count it against its slots
    if not settings.text("RAY_ADDRESS"):  # the person's token outlives the run: Ray gets one that does not
        for name in (token.TOKEN, token.FILE):
            inherited.pop(name, None)
    if settings.text("REWARD_FN"):  # a module of the person's, wherever Ray's workers run
        inherited["PYTHONPATH"] = os.pathsep.join(filter(None, [inherited.get("PYTHONPATH"), str(Path.cwd())]))
    return inherited


def hydra_text(text: str, quoted: bool = False) -> str:
    """Quote ``text`` for Hydra's grammar, whatever is in it; ``quoted`` also where a number stays a text only so."""
    if not quoted and re.fullmatch(r"[\w./-]+", text, re.ASCII):
        return text
    text = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), text)
    return "'" + text.replace("${", "\\${") + "'"

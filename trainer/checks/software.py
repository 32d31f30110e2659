"""What a run needs of the software that is installed: loggers, kernels, and the kit itself."""

import importlib.util
import os
import sys
from pathlib import Path

from data import models
from reward.support.wording import shown
from trainer.settings.settings import Settings
from trainer.setup.wheelhouse import manifest
from trainer.user_error import UserError
from trainer.workers.engine import attention

# vLLM's CPU attention kernels: vllm/v1/attention/backends/cpu_attn.py, get_supported_head_sizes
CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)


def logger_faults(settings: Settings) -> list[str]:
    """Return what is wrong with a logger that would fail when training begins: its package, or its login."""
    loggers = settings.choices("LOGGER")
    faults = [
        f"--logger {name}: the package is not installed; {sys.executable} -m pip install {name}"
        for name in loggers
        if name != "console" and importlib.util.find_spec(name) is None
    ]
    if "wandb" in loggers and not _wandb_is_ready():
        faults.append("--logger wandb: export WANDB_API_KEY (or run wandb login), or WANDB_MODE=offline")
    return faults


def _wandb_is_ready() -> bool:
    netrc = Path(os.environ.get("NETRC", "~/.netrc")).expanduser()
    return (
        bool(os.environ.get("WANDB_API_KEY"))
        or os.environ.get("WANDB_MODE") in ("offline", "disabled", "dryrun")
        or (netrc.is_file() and "wandb" in netrc.read_text(encoding="utf-8", errors="replace"))
    )


def wheelhouse_faults(settings: Settings) -> list[str]:
    """Return what is wrong with a wheelhouse, of which set-up makes no use where the environment is made already."""
    name = settings.text("WHEELHOUSE")
    if not name:
        return []
    folder = Path(name)
    try:
        listed = manifest.read(folder)
    except UserError as error:
        return list(error.faults)
    if listed is None:
        lacking = f"there is no {manifest.FILE} in it" if folder.is_dir() else "there is no such folder"
        return [f"--wheelhouse {shown(name)}: {lacking}; name the folder that ./train.sh wheelhouse made"]
    device = settings.text("DEVICE")
    if listed.target.device != device:
        return [f"--wheelhouse {shown(name)}: made for --device {listed.target.device}, and this is --device {device}"]
    return [] if listed.complete else [f"--wheelhouse {shown(name)}: not finished; run ./train.sh wheelhouse again"]


def device_faults(settings: Settings, model: models.Model) -> list[str]:
    """Return what the model asks of the device's software and does not find."""
    head, name = model.head_size, settings.text("MODEL_PATH")
    if settings.text("DEVICE") == "cuda" or head is None or head in CPU_HEAD_SIZES:
        return []
    sizes = ", ".join(map(str, CPU_HEAD_SIZES))
    return [
        f"--model {name}: its attention heads have size {head}, and vLLM's CPU build serves {sizes}; "
        "take another model, or a GPU"
    ]


def without_flash(settings: Settings) -> str:
    """Return what a GPU machine without flash-attn is told, which is not in verl's [vllm] extra; empty where it is."""
    if settings.text("DEVICE") != "cuda" or attention.has_flash():
        return ""
    return (
        "flash-attn is not installed, so actor and critic take PyTorch's attention: its flash kernels in packed passes "
        "where numbers have 16 bits and trainer/workers/engine knows the model, else SDPA with padding, which costs "
        "time; "
        f"it fits one CUDA each: {sys.executable} -m pip install flash-attn==2.8.3 "
        "--no-build-isolation"
    )

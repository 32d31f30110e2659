"""All that can be known to fail before Ray starts: data, model, batch shape, disk, shared memory."""

import importlib.util
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from data import models, parquet
from reward.rules import RULES
from trainer.settings import Settings, UserError

# vLLM's CPU attention kernels: vllm/v1/attention/backends/cpu_attn.py, get_supported_head_sizes
CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
GIB = 1 << 30
MICRO_BATCH_TOKENS = {"cpu": 4096, "cuda": 16384}  # of a forward pass, where the micro batch is chosen here


@dataclass(frozen=True)
class Plan:
    """What the checks found out, beside the settings."""

    model: models.Model
    train_file: Path
    val_file: Path
    micro_batch: int
    steps_per_epoch: int
    bucket_mb: int

    def total_steps(self, settings: Settings) -> int:
        """Return how many steps the run will make."""
        asked = settings.values["TOTAL_STEPS"]
        return asked if isinstance(asked, int) else self.steps_per_epoch * settings.integer("EPOCHS")


def check(settings: Settings, say: Callable[[str], None]) -> Plan:
    """Check everything and prepare model and data.

    Raises:
        UserError: with every fault found, one line each.
    """
    cache = settings.output / "cache"
    faults: list[str] = _disk_faults(cache)
    files: tuple[Path, Path] | None = None
    steps = 0
    try:
        files = parquet.prepare(settings.text("DATA"), settings.text("VAL_DATA"), cache / "data")
        rows = parquet.row_count(files[0])
        steps = rows // settings.integer("BATCH_SIZE")
        faults += _reward_faults(settings, files)
        if not steps:
            faults.append(f"--batch_size {settings.integer('BATCH_SIZE')}: {files[0]} has only {rows} prompts")
    except parquet.DataError as error:
        faults.append(str(error))
    micro = settings.values["MICRO_BATCH_SIZE"]
    if not isinstance(micro, int):
        micro = micro_batch(settings)
    elif samples_per_rank(settings) % micro:
        samples = samples_per_rank(settings)
        faults.append(
            f"--micro_batch_size {micro} does not divide the {samples} samples that a rank has of a mini batch; "
            f"the nearest below that does: {_divisor(samples, micro)}"
        )
    if faults:
        raise UserError(*faults)  # before a model is made, which takes a while
    try:
        model = models.find(settings.text("MODEL_PATH"), cache / "models", settings.integer("SEED"), say)
    except models.ModelError as error:
        raise UserError(str(error)) from None
    bucket = bucket_megabytes(model)
    faults += _device_faults(settings, model, bucket) + _checkpoint_faults(model, cache)
    if faults:
        raise UserError(*faults)
    assert files is not None
    return Plan(model, *files, micro, steps, bucket)


def _reward_faults(settings: Settings, files: tuple[Path, Path]) -> list[str]:
    """A data source that no rule scores, unless the person brings a reward function of verl's."""
    if any(word.lstrip("+~").startswith("reward.") for word in settings.overrides):
        return []
    unknown = sorted(parquet.data_sources(*files) - RULES.keys())
    if unknown:
        return [
            f"--data {settings.text('DATA')}: no rule scores data_source {', '.join(map(repr, unknown))}; "
            f"there are rules for {', '.join(RULES)} (reward/rules/__init__.py)"
        ]
    return []


def samples_per_rank(settings: Settings) -> int:
    """Return how many samples of a mini batch one rank sees."""
    return settings.integer("MINI_BATCH_SIZE") * settings.integer("ROLLOUT_N") // settings.integer("N_GPUS")


def micro_batch(settings: Settings) -> int:
    """Return the largest micro batch that divides a rank's samples and keeps a forward pass within bounds."""
    length = settings.integer("MAX_PROMPT_LENGTH") + settings.integer("MAX_RESPONSE_LENGTH")
    return _divisor(samples_per_rank(settings), max(1, MICRO_BATCH_TOKENS[settings.text("DEVICE")] // length))


def _divisor(number: int, limit: int) -> int:
    return next(d for d in range(min(number, limit), 0, -1) if number % d == 0)


def bucket_megabytes(model: models.Model) -> int:
    """Return the size of the buffer that carries weights to vLLM: the largest tensor in float32 must fit."""
    text = model.config.get("text_config", model.config)
    assert isinstance(text, dict)
    largest = int(text.get("vocab_size", 0)) * int(text.get("hidden_size", 0)) * 4
    return max(64, -(-largest // (1 << 20)) + 16)


def _device_faults(settings: Settings, model: models.Model, bucket: int) -> list[str]:
    if settings.text("DEVICE") == "cuda":
        return _cuda_faults()
    faults = []
    head, name = model.head_size, settings.text("MODEL_PATH")
    if head is not None and head not in CPU_HEAD_SIZES:
        sizes = ", ".join(map(str, CPU_HEAD_SIZES))
        faults.append(
            f"--model {name}: its attention heads have size {head}, and vLLM's CPU build serves {sizes}; "
            "take another model, or a GPU"
        )
    needed = bucket * settings.integer("N_GPUS") << 20
    free = shutil.disk_usage("/dev/shm").free
    if free < needed:
        faults.append(
            f"/dev/shm has {free >> 20} MiB free and the weights need {needed >> 20} MiB there on their way to vLLM; "
            "give it more (docker run --shm-size=2g)"
        )
    return faults


def _cuda_faults() -> list[str]:
    """Transformers refuses verl's attention without this package, which is not in verl's [vllm] extra."""
    if importlib.util.find_spec("flash_attn") is None:
        return [
            "flash-attn, which verl's actor and critic need on a GPU, is not installed, as it must fit the machine's "
            f"CUDA: {sys.executable} -m pip install flash-attn==2.8.3 --no-build-isolation"
        ]
    return []


def _disk_faults(cache: Path) -> list[str]:
    free = _free(cache)
    if free < 2 * GIB:
        return [
            f"{cache.parent}: {free / GIB:.1f} GiB of disk are free and a run needs 2 GiB; "
            "free some, or name another disk with --output_dir"
        ]
    return []


def _checkpoint_faults(model: models.Model, cache: Path) -> list[str]:
    """Weights in float32 and two moments of AdamW for actor and critic, for two checkpoints, and the export."""
    weights = sum(file.stat().st_size for file in Path(model.path).glob("*.safetensors"))
    needed = weights // 2 * (12 * 2 * 2 + 4)  # the files are in bfloat16 as a rule: two bytes a parameter
    free = _free(cache)
    if free < needed:
        return [
            f"{cache.parent}: {free / GIB:.1f} GiB of disk are free and checkpoints of this model take about "
            f"{needed / GIB:.1f} GiB; free some, or name another disk with --output_dir"
        ]
    return []


def _free(path: Path) -> int:
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free

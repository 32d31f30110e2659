"""All that can be known to fail before Ray starts: data, reward, model, checkpoint, loggers, disk, shared memory."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from data import models, parquet
from data.report import Lengths, report
from reward.model.spec import Spec
from trainer import judge, resume, reward_check
from trainer.settings import Settings, UserError

# vLLM's CPU attention kernels: vllm/v1/attention/backends/cpu_attn.py, get_supported_head_sizes
CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
GIB = 1 << 30
QUICK = 16 << 20  # bytes of data that a dry run reads; what is larger, or on the hub, is not looked at


@dataclass(frozen=True)
class Plan:
    """What the checks found out, beside the settings."""

    model: models.Model
    train_file: Path
    val_file: Path
    rows: tuple[int, int] | None  # prompts to train on, and held out; None in a dry run that did not read them
    bucket_mb: int
    start: resume.Start = field(default_factory=resume.Start)
    reward_keys: tuple[str, ...] = ()  # what --reward_fn returns
    exact: bool = True  # whether each prompt was measured; of many, a sample is, and verl may leave out a few more
    reward_model: Spec | None = None

    def steps_per_epoch(self, settings: Settings) -> int | None:
        """Return how many whole batches one pass over the data has."""
        return None if self.rows is None else self.rows[0] // settings.integer("BATCH_SIZE")

    def total_steps(self, settings: Settings) -> int | None:
        """Return at which step the run ends; None where only the data would tell."""
        asked, steps = settings.values["TOTAL_STEPS"], self.steps_per_epoch(settings)
        if isinstance(asked, int):
            return asked
        return None if steps is None else steps * settings.integer("EPOCHS")


def check(settings: Settings, say: Callable[[str], None]) -> Plan:
    """Check everything and prepare model and data; say what is in the data, and how its answers are scored.

    A dry run is for a machine that may not be this one: nothing is fetched or made, nothing that takes long is read,
    and disk, memory and packages are not looked at.

    Raises:
        UserError: with every fault found, one line each.
    """
    cache = settings.output / "cache"
    faults: list[str] = (
        [] if settings.dry_run else [*_not_yet(settings), *_disk_faults(cache), *_logger_faults(settings)]
    )
    faults += reward_check.function_faults(settings) + judge.faults(settings)
    files, rows = (Path("train.parquet"), Path("val.parquet")), None
    try:
        files = data_files(settings)
        rows = (parquet.row_count(files[0]), parquet.row_count(files[1]))
        if rows[0] < settings.integer("BATCH_SIZE"):
            faults.append(f"--batch_size {settings.integer('BATCH_SIZE')}: {files[0]} has only {rows[0]} prompts")
    except parquet.DataError as error:
        faults += error.faults
    except parquet.TooMuch:
        pass
    begin, wrong = resume.start(settings)
    faults += wrong
    if faults:
        raise UserError(*faults)  # before a model is made, which takes a while
    rm = _reward_model(settings)
    keys, exact = tuple[str, ...](), True
    if not settings.dry_run:
        faults = judge.try_out(settings)
        if faults:
            raise UserError(*faults)
        found = reward_check.try_out(settings, files[0])
        keys = found.keys
        for line in found.lines:
            say(f"reward: {line}")
    try:
        spec, seed = settings.text("MODEL_PATH"), settings.integer("SEED")
        model = models.find(spec, cache / "models", seed, say, fetch=not settings.dry_run)
    except models.ModelError as error:
        raise UserError(str(error)) from None
    bucket = bucket_megabytes(model)
    if not settings.dry_run:
        faults += _device_faults(settings, model, bucket) + _checkpoint_faults(model, cache)
        if faults:
            raise UserError(*faults)
        rows, exact = _tell_of_data(settings, model, files, say)
        if rm is not None:
            from trainer import reward_model

            rm = reward_model.check(settings, rm, model.path, files[0], say)
    return Plan(model, *files, rows, bucket, begin, keys, exact, rm)


def _reward_model(settings: Settings) -> Spec | None:
    """Return the reward model, sound as far as can be told without its weights; None where there is none.

    Raises:
        UserError: with its faults.
    """
    if not settings.reward.by_model or reward_check.is_overridden(settings):
        return None
    from trainer import reward_model  # brings torch, which other runs do without

    return reward_model.plan(settings, CPU_HEAD_SIZES if settings.text("DEVICE") == "cpu" else ())


def data_files(settings: Settings) -> tuple[Path, Path]:
    """Return the parquet files of the training and the held-out prompts.

    Raises:
        DataError: with every fault of the data.
        TooMuch: in a dry run, of data that takes long to read.
    """
    rules = settings.reward.by_rule and not reward_check.is_overridden(settings)
    cache, most = settings.output / "cache" / "data", QUICK if settings.dry_run else None
    return parquet.prepare(settings.text("DATA"), settings.text("VAL_DATA"), cache, rules, most)


def _tell_of_data(
    settings: Settings, model: models.Model, files: tuple[Path, Path], say: Callable[[str], None]
) -> tuple[tuple[int, int], bool]:
    """Say what is in the data; return how many prompts there are to train on, less those too long, and held out.

    The other value is whether that is exact.

    Raises:
        UserError: too few prompts are left for one batch, or the model has no chat template.
    """
    from transformers import AutoTokenizer

    limit, batch = settings.integer("MAX_PROMPT_LENGTH"), settings.integer("BATCH_SIZE")
    name = settings.text("MODEL_PATH")
    try:
        tokenizer = AutoTokenizer.from_pretrained(model.path)
        found = report(*files, tokenizer, limit)
    except Exception as error:  # of a stranger's tokenizer or template
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(f"--model {name}: its tokenizer cannot make prompts of the data: {reason[0][:300]}") from None
    for line in found.lines(settings.text("REWARD_FN")):
        say(line)
    lengths = found.lengths or Lengths(0, 0, 0, 0.0, limit)
    left = found.rows - round(lengths.too_long * found.rows)
    if left < batch:
        raise UserError(
            f"--max_prompt_length {limit}: {left} of {found.rows} prompts are not longer, and a batch has {batch}; "
            f"the longest measured has {lengths.longest} tokens: raise it, or lower --batch_size"
        )
    return (left, found.held_out), lengths.measured >= found.rows


def _not_yet(settings: Settings) -> list[str]:
    """What has its knobs, its plan and its configuration, and cannot be run."""
    machines = settings.integer("NNODES")
    return [f"NNODES={machines}: this version trains on one machine (--dry_run shows the plan)"] if machines > 1 else []


def _logger_faults(settings: Settings) -> list[str]:
    """A logger that would fail when training begins: its package, or its login."""
    loggers = settings.values["LOGGER"]
    assert isinstance(loggers, list)
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

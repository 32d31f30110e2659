"""What the checks before a launch found out, beside the settings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data import models
from environments.tools.spec import Schema
from reward.audit import AuditSpec
from reward.judge.config import JudgeConfig
from reward.model.spec import RewardModelSpec
from trainer.runs import resume
from trainer.settings.settings import Settings


@dataclass
class Latency:
    """Seconds that the checks measured; None where nothing was."""

    judge: float | None = None  # of one verdict
    turn: float | None = None  # of one step of an environment


@dataclass(frozen=True)
class RunPlan:
    """What the checks found out, beside the settings."""

    model: models.Model
    train_file: Path
    val_file: Path
    rows: tuple[int, int] | None  # prompts to train on, and held out; None in a dry run that did not read them
    bucket_mb: int
    start: resume.Start = field(default_factory=resume.Start)
    reward_keys: tuple[str, ...] = ()  # what --reward_fn returns
    exact: bool = True  # whether each prompt was measured; of many, a sample is, and verl may leave out a few more
    reward_model: RewardModelSpec | None = None
    judge: JudgeConfig | None = None
    audit: AuditSpec | None = None
    tools: Sequence[Schema] = ()  # what the model is told of those that it may call
    latency: Latency = field(default_factory=Latency)
    limit: int | None = None  # tokens of the longest prompt, where the data decided it

    def fitted(self, settings: Settings) -> Settings:
        """Return the settings with what was left to the kit as the data have it: the longest prompt, and the batch."""
        settings = settings if self.limit is None else settings.limited_to(self.limit)
        return settings if self.rows is None else settings.filled_by(self.rows[0])

    def steps_per_epoch(self, settings: Settings) -> int | None:
        """Return how many whole batches one pass over the data has."""
        return None if self.rows is None else self.rows[0] // settings.integer("BATCH_SIZE")

    def total_steps(self, settings: Settings) -> int | None:
        """Return at which step the run ends; None where only the data would tell."""
        asked, steps = settings.integer_or_none("TOTAL_STEPS"), self.steps_per_epoch(settings)
        if asked is not None:
            return asked
        return None if steps is None else steps * settings.integer("EPOCHS")


def bucket_megabytes(model: models.Model) -> int:
    """Return the size of the buffer that carries weights to vLLM: the largest tensor in float32 must fit."""
    text = model.config.get("text_config", model.config)
    assert isinstance(text, dict)
    largest = int(text.get("vocab_size", 0)) * int(text.get("hidden_size", 0)) * 4
    return max(64, -(-largest // (1 << 20)) + 16)

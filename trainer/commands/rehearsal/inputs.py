"""What a rehearsal needs to know of the real run before it starts anything: its configuration, models and data."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig

from data import models
from data.models import ModelError
from data.parquet import DataError
from trainer.checks import preflight
from trainer.checks.finding import Finding
from trainer.checks.forecast import model as model_size
from trainer.checks.forecast import table
from trainer.checks.forecast.run import RunSize
from trainer.checks.run_checks import run_checks
from trainer.commands.rehearsal import miniature, run_settings
from trainer.commands.rehearsal.miniature import Architecture, ModelSource
from trainer.composition import environment_spec
from trainer.settings.batch_shape import Shape
from trainer.settings.batch_shape_rules import shape_faults
from trainer.settings.settings import Settings
from trainer.user_error import UserError

CLASSIFIER = "ForSequenceClassification"  # how transformers' classes are called that score


@dataclass(frozen=True)
class Inputs:
    """The real run, as far as it can be known without its weights and its devices.

    ``settings`` are those that it would have: with a batch that the data fill.
    """

    settings: Settings
    policy: ModelSource
    architecture: Architecture
    files: tuple[Path, Path]  # prompts to train on, and held out
    config: DictConfig
    forecast: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    reward_model: ModelSource | None = None
    critic: ModelSource | None = None


def read(settings: Settings, say: Callable[[str], None]) -> Inputs:
    """Compose the real run's configuration, and look at its models and data; nothing but a built-in model is made.

    Raises:
        UserError: with every fault.
    """
    dry = settings.having(DRY_RUN=True)
    result = run_checks(dry, lambda line: None, Path("/tmp/ppo-kit-rehearsal"), make=False)
    faults = preflight.fatal(settings, result.findings)
    policy = ModelSource(settings.text("MODEL_PATH"), "model")
    rewards, critic = _reward_model(settings), _critic(settings)
    architecture, model, files = None, None, None
    try:
        cache, seed = settings.output / "cache" / "models", settings.integer("SEED")
        model = models.find_or_make(policy.name, cache, seed, say, True, *environment_spec.of_model(settings))
        policy = ModelSource(model.path, "model")
        architecture = miniature.read(policy)
    except ModelError as error:
        faults.append(str(error))
    except UserError as error:
        faults += error.faults
    for other in filter(None, (rewards, critic)):
        try:
            kind = miniature.read(other).name
        except UserError as error:
            faults += error.faults
        else:
            if other is rewards and _has_own_head(settings, kind):
                rewards = dataclasses.replace(rewards, stand_in=True)
    try:
        files = preflight.data_files(settings.having(DRY_RUN=False))
    except DataError as error:
        faults += error.faults
    if faults or result.config is None or architecture is None or model is None or files is None:
        raise UserError(*dict.fromkeys(faults))
    forecast = result.forecast or _forecast(model, result.config)
    warnings = tuple(finding.text for finding in result.findings if finding.state == "warn" and _tells(finding))
    real = result.settings.having(DRY_RUN=settings.dry_run)
    return Inputs(real, policy, architecture, files, result.config, tuple(forecast), warnings, rewards, critic)


def _tells(finding: Finding) -> bool:
    """Whether a warning of the dry run is one of the real run, not of this machine or of a model not yet fetched."""
    return finding.what not in ("model", "memory")


def _forecast(model: models.Model, config: DictConfig) -> tuple[str, ...]:
    """Return the forecast of a model of the hub, of which a dry run knows no sizes.

    Raises:
        UserError: the sizes of the run do not fit it.
    """
    if wrong := shape_faults(Shape.of_config(config, model.config)):
        raise UserError(*wrong)
    size = model_size.of_config(model.config)
    return tuple(table.lines(size, RunSize.of_config(config), None)) if size is not None else ()


def _reward_model(settings: Settings) -> ModelSource | None:
    """Return the reward model that gets a miniature: one that no running server holds."""
    if not settings.reward.by_model or settings.text("RM_URL"):
        return None
    return ModelSource(settings.text("REWARD_MODEL_PATH"), "reward_model", scores=True)


def _has_own_head(settings: Settings, name: str) -> bool:
    """Whether a reward model's class is none of transformers', as those of ArmoRM and Starling."""
    return not name.endswith(CLASSIFIER) and not settings.text("RM_ADAPTER")


def _critic(settings: Settings) -> ModelSource | None:
    """Return the critic's own model, where an override names one."""
    name = run_settings.critic_of(settings)
    return ModelSource(name, run_settings.CRITIC_PATH) if name else None

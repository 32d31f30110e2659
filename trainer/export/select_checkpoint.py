"""Which checkpoint of which run a command is about: RUN, and ``--step N`` or ``--step best``."""

from collections.abc import Callable
from pathlib import Path

from data import models
from reward.support.wording import is_folder, quoted, shown
from trainer.checks import policy_model
from trainer.composition import environment_spec
from trainer.launch import supervisor
from trainer.runs import checkpoint_pickles, checkpoints, folders, stack_versions
from trainer.runs.folders import no_such_run
from trainer.settings.knobs import AUTO
from trainer.settings.settings import Settings
from trainer.user_error import UserError

WEIGHTS = (".safetensors", ".bin")


def run(settings: Settings, command: str, name: str) -> folders.Run:
    """Return the run of that name.

    Raises:
        UserError: there is none; the nearest names are told.
    """
    runs = settings.output / "runs"
    if not name or Path(name).name != name or not is_folder(runs / name):
        raise UserError(f"{command}: {shown(name)}: {no_such_run(name, [path.name for path in runs.glob('*/')], runs)}")
    return folders.Run(name, runs / name, settings.output / "checkpoints" / name)


def checkpoint(settings: Settings, command: str, run_folder: folders.Run) -> Path:
    """Return the folder of the checkpoint of a run that ``--step`` names, the last one where it does not.

    Raises:
        UserError: there is no such checkpoint, or a file of it is damaged.
    """
    saved, step = checkpoints.steps(run_folder.checkpoints), settings.integer_or_none("EXPORT_STEP")
    asked = settings.values["EXPORT_STEP"]
    listed = ", ".join(map(str, saved)) or "none"
    if asked == AUTO:
        step = saved[-1] if saved else None
    elif asked == "best":
        step = checkpoints.best(run_folder.checkpoints)
        if saved and step is None:
            text = f"{command}: no checkpoint of {run_folder.name} was validated"
            raise UserError(f"{text}; name one of {listed} by --step")
    if step is None or step not in saved:
        text = f"{command}: {run_folder.name} has no checkpoint{'' if step is None else f' of step {step}'}"
        raise UserError(f"{text}; there are: {listed} (--keep says how many)")
    folder = checkpoints.folder_of(run_folder.checkpoints, step)
    if wrong := checkpoints.damage(folder):
        raise UserError(f"{command}: the checkpoint of step {step} is damaged: {wrong}")
    foreign = "" if settings.switch("TRUST_CHECKPOINT") else checkpoint_pickles.foreign(folder)
    if foreign:
        raise UserError(f"{command}: {foreign}; {checkpoint_pickles.REMEDY}")
    return folder


def require_readable(command: str, folder: Path) -> None:
    """Check that a checkpoint can be exported: with the torch that is here, and with its chat template.

    Raises:
        UserError: it cannot; which versions wrote it, or what is wrong with the template, and what to do.
    """
    if wrong := stack_versions.unreadable(folder):
        raise UserError(f"{command}: {wrong}")
    files = folder / "actor" / "huggingface"
    if faults := policy_model.prompt_faults(files):
        raise UserError(*(f"{command}: {shown(str(files))}: {fault}" for fault in faults))


def model(settings: Settings, command: str, name: str, say: Callable[[str], None]) -> tuple[str, str]:
    """Return the folder of a model, or its name on the hub, and how it is called: a run's, of ``--step``, or any model.

    A checkpoint that was not exported yet is exported.

    Raises:
        UserError: there is no such model, run or checkpoint.
    """
    if not name:
        raise UserError(f"{command}: an empty word ('', perhaps of an unset variable) names no model")
    if faults := folders.output_faults(settings):
        raise UserError(*faults)
    if Path(name).name == name and is_folder(settings.output / "runs" / name):
        run_folder = run(settings, command, name)
        folder = checkpoint(settings, command, run_folder)
        step = checkpoints.step_of(folder)
        exported = run_folder.checkpoints / f"model-step-{step}"
        if run_folder.model.is_dir() and step == checkpoints.steps(run_folder.checkpoints)[-1]:
            exported = run_folder.model
        if not exported.is_dir():
            require_readable(command, folder)
            say(f"exporting the model of step {step}")
            supervisor.export(run_folder, folder, exported)
        return str(exported), f"{name}, step {step}"
    if settings.values["EXPORT_STEP"] != AUTO:
        raise UserError(
            f"{command}: --step is of a run's checkpoints, and {quoted(name)} is no run in {settings.output}"
        )
    try:
        cache, seed = settings.output / "cache" / "models", settings.integer("SEED")
        found_model = models.find_or_make(name, cache, seed, say, True, *environment_spec.of_model(settings)).path
        if is_folder(Path(found_model)) and not any(path.suffix in WEIGHTS for path in Path(found_model).iterdir()):
            raise UserError(f"{command}: {quoted(name)}: the folder has no weights, *{' or *'.join(WEIGHTS)}")
        return found_model, name
    except models.ModelError as error:
        if "/" in name or ":" in name or is_folder(Path(name)):
            raise UserError(f"{command}: {error}") from None
        runs = settings.output / "runs"
        missing = no_such_run(name, [path.name for path in runs.glob("*/")], runs)
        raise UserError(
            f"{command}: {shown(name)}: {missing}; nor is it a model (a folder, builtin:tiny, OWNER/NAME of the hub)"
        ) from None

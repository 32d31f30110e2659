"""Which checkpoint of which run a command is about: RUN, and ``--step N`` or ``--step best``."""

from collections.abc import Callable
from pathlib import Path

from data import models
from reward.support.wording import is_folder, quoted, shown
from trainer.launch import supervisor
from trainer.runs import checkpoint_pickles, checkpoints, folders
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


def checkpoint(settings: Settings, command: str, found: folders.Run) -> Path:
    """Return the folder of the checkpoint of a run that ``--step`` names, the last one where it does not.

    Raises:
        UserError: there is no such checkpoint, or a file of it is damaged.
    """
    there, asked = checkpoints.steps(found.checkpoints), settings.values["EXPORT_STEP"]
    listed = ", ".join(map(str, there)) or "none"
    step: int | None
    if asked == AUTO:
        step = there[-1] if there else None
    elif asked == "best":
        step = checkpoints.best(found.checkpoints)
        if there and step is None:
            raise UserError(f"{command}: no checkpoint of {found.name} was validated; name one of {listed} by --step")
    else:
        assert isinstance(asked, int)
        step = asked
    if step is None or step not in there:
        text = f"{command}: {found.name} has no checkpoint{'' if step is None else f' of step {step}'}"
        raise UserError(f"{text}; there are: {listed} (--keep says how many)")
    folder = checkpoints.folder_of(found.checkpoints, step)
    if wrong := checkpoints.damage(folder):
        raise UserError(f"{command}: the checkpoint of step {step} is damaged: {wrong}")
    foreign = "" if settings.values["TRUST_CHECKPOINT"] is True else checkpoint_pickles.foreign(folder)
    if foreign:
        raise UserError(f"{command}: {foreign}; {checkpoint_pickles.REMEDY}")
    return folder


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
        found = run(settings, command, name)
        folder = checkpoint(settings, command, found)
        step = checkpoints.step_of(folder)
        exported = found.checkpoints / f"model-step-{step}"
        if found.model.is_dir() and step == checkpoints.steps(found.checkpoints)[-1]:
            exported = found.model
        if not exported.is_dir():
            say(f"exporting the model of step {step}")
            supervisor.export(found, folder, exported)
        return str(exported), f"{name}, step {step}"
    if settings.values["EXPORT_STEP"] != AUTO:
        raise UserError(
            f"{command}: --step is of a run's checkpoints, and {quoted(name)} is no run in {settings.output}"
        )
    try:
        cache, seed = settings.output / "cache" / "models", settings.integer("SEED")
        found_model = models.find(name, cache, seed, say).path
        if is_folder(Path(found_model)) and not any(path.suffix in WEIGHTS for path in Path(found_model).iterdir()):
            raise UserError(f"{command}: {quoted(name)}: the folder has no weights, *{' or *'.join(WEIGHTS)}")
        return found_model, name
    except models.ModelError as error:
        names = [path.name for path in (settings.output / "runs").glob("*/")]
        hint = "" if "/" in name or ":" in name else f"; {no_such_run(name, names, settings.output / 'runs')}"
        raise UserError(f"{command}: {error}{hint}") from None

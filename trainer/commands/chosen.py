"""Which checkpoint of which run a command is about: RUN, and ``--step N`` or ``--step best``."""

from pathlib import Path

from trainer import checkpoints, launch
from trainer.commands import no_such_run
from trainer.knobs import AUTO
from trainer.settings import Settings, UserError


def run(settings: Settings, command: str, name: str) -> launch.Run:
    """Return the run of that name.

    Raises:
        UserError: there is none; the nearest names are told.
    """
    runs = settings.output / "runs"
    if Path(name).name != name or not (runs / name).is_dir():
        raise UserError(f"{command}: {name}: {no_such_run(name, [path.name for path in runs.glob('*/')], runs)}")
    return launch.Run(name, runs / name, settings.output / "checkpoints" / name)


def checkpoint(settings: Settings, command: str, found: launch.Run) -> Path:
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
    return folder

"""``./train.sh export RUN``: the model of a checkpoint as a Hugging Face folder."""

from collections.abc import Sequence

from reward.support.wording import expand_home, path_fault, shown
from trainer.export import select_checkpoint
from trainer.launch import supervisor
from trainer.runs import folders
from trainer.runs.checkpoints import step_of
from trainer.settings.settings import Settings
from trainer.user_error import UserError, say


def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Write a run's model as a Hugging Face folder; return the exit status.

    Raises:
        UserError: the run or the step is not there, or the folder to write is.
    """
    if len(arguments) != 1:
        typed = shown(" ".join(arguments)) or "none"
        raise UserError(f"export: the name of one run is wanted, as in ./train.sh export RUN, not {typed}")
    run_folder = select_checkpoint.run(settings, "export", arguments[0])
    checkpoint = select_checkpoint.checkpoint(settings, "export", run_folder)
    step = step_of(checkpoint)
    typed = settings.text("RESULT_PATH")
    target = expand_home(typed) if typed else run_folder.checkpoints / f"model-step-{step}"
    fault = folders.typed_fault(typed) or path_fault(target)
    if not fault and target.exists():
        raise UserError(f"export: {shown(target)} is there already; remove it, or name another folder with --out")
    if fault := fault or folders.write_fault(target.absolute()):
        raise UserError(f"export: {shown(target)} cannot be written: {fault}; name another folder with --out")
    select_checkpoint.require_readable("export", checkpoint)
    say(f"the model of step {step}: {supervisor.export(run_folder, checkpoint, target)}")
    return 0

"""``./train.sh export RUN``: the model of a checkpoint as a Hugging Face folder."""

from collections.abc import Sequence
from pathlib import Path

from reward.support.wording import shown
from trainer.export import select_checkpoint
from trainer.launch import supervisor
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
    target = Path(settings.text("RESULT_PATH") or run_folder.checkpoints / f"model-step-{step}")
    if target.exists():
        raise UserError(f"export: {target} is there already; remove it, or name another folder with --out")
    select_checkpoint.require_readable("export", checkpoint)
    say(f"the model of step {step}: {supervisor.export(run_folder, checkpoint, target)}")
    return 0

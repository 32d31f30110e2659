"""What ``./train.sh`` does instead of training: a module a command, imported when it is asked for."""

import difflib
import importlib
from collections.abc import Sequence
from pathlib import Path

from reward.wording import shown
from trainer.knobs import COMMANDS
from trainer.settings import Settings, UserError

NAMES = tuple(words.split()[0] for words in COMMANDS if words)


def run(name: str, settings: Settings, words: Sequence[str]) -> int:
    """Do what the command ``name`` says with its ``words`` (files, runs); return the exit status.

    Raises:
        UserError: with the faults found.
    """
    if not all(word.strip() for word in words):
        raise UserError(f"{name}: a word is empty (an unset shell variable?); give the name that is meant")
    if settings.overrides and name not in ("check", "check_reward"):
        raise UserError(
            f"{name}: overrides for verl are of no effect: leave out {shown(' '.join(settings.overrides), 200)}"
        )
    status: int = importlib.import_module(f"trainer.commands.{name}").run(settings, words)
    return status


def no_such_run(name: str, names: Sequence[str], folder: Path) -> str:
    """Return what to say of a run that does not exist: the nearest that do."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.3)
    return f"no such run in {shown(folder)}" + (f"; there are {', '.join(near)}" if near else "; there is none like it")

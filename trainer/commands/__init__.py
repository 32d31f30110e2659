"""What ``./train.sh`` does instead of training: a module a command, imported when it is asked for."""

import importlib
from collections.abc import Sequence

from reward.support.wording import shown
from trainer.settings.knobs import COMMANDS
from trainer.settings.settings import Settings
from trainer.user_error import UserError

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

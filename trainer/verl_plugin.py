"""Entry point ``verl.plugins``: makes the kit's trainer known to verl, on every device."""

import importlib
from types import ModuleType

from trainer.import_hook import after_import


def _register(_: ModuleType) -> None:
    importlib.import_module("trainer.ppo_trainer")


after_import({"verl.trainer.ppo.v1.trainer_sync": _register})

"""Entry point ``verl.plugins``: makes the kit's trainer and policy loss known to verl, on every device."""

import importlib
import os
from types import ModuleType

from trainer.import_hook import after_import


def _register_trainer(_: ModuleType) -> None:
    importlib.import_module("trainer.ppo_trainer")


def _register_policy_loss(_: ModuleType) -> None:
    importlib.import_module("trainer.algorithm.policy_loss")


def append_metrics(module: ModuleType) -> None:
    """verl/utils/tracking.py, ``open(self.filepath, "wb")``: a run that goes on would lose the metrics that it has."""

    class FileLogger(module.FileLogger):  # type: ignore[name-defined, misc]
        def __init__(self, project_name: str, experiment_name: str) -> None:
            self.filepath = os.environ["VERL_FILE_LOGGER_PATH"]
            self.fp = open(self.filepath, "ab", buffering=0)  # noqa: SIM115, PTH123

    module.FileLogger = FileLogger  # type: ignore[attr-defined]


after_import(
    {
        "verl.trainer.ppo.core_algos": _register_policy_loss,
        "verl.trainer.ppo.v1.trainer_sync": _register_trainer,
        "verl.utils.tracking": append_metrics,
    }
)

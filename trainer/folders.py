"""The folders of one run, and its name."""

import time
from dataclasses import dataclass
from pathlib import Path

from trainer import lock, remembered, resume
from trainer.settings import Settings, UserError, as_env

LOCK_WAIT = 30.0  # seconds, until the processes of a launcher that was killed have ended


@dataclass(frozen=True)
class Run:
    """The folders of one run."""

    name: str
    folder: Path  # config.yaml, train.log, metrics.jsonl, rollouts/, summary.json, report.html
    checkpoints: Path  # global_step_N/ and, when it is over, model/

    def make_folders(self, settings: Settings) -> int:
        """Make the run's folders, or take those of the run that goes on; return the lock that says they are in use.

        Raises:
            UserError: somebody trains in them.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        held = lock.take(self.folder / "lock", LOCK_WAIT)
        if held is None:
            raise UserError(f"--run_name {self.name}: this run is being trained; take another name, or end that one")
        given = {env: settings.values[env] for env in settings.given}
        texts = {env: "none" if value is None else as_env(value) for env, value in given.items()}
        remembered.write(self.folder, texts, settings.overrides)
        return held

    @property
    def model(self) -> Path:
        """The exported model."""
        return self.checkpoints / "model"


def new_run(settings: Settings) -> Run:
    """Name the run; its folders are made by ``make_folders``, when nothing can be wrong any more.

    Raises:
        UserError: it cannot have that name.
    """
    name = resume.name(settings)
    if name == "auto":
        model, data = (settings.text(env).removeprefix("builtin:") for env in ("MODEL_PATH", "DATA"))
        parts = [Path(model).name, Path(data).stem, time.strftime("%Y%m%d-%H%M%S")]
        name = "-".join(parts[:2] if settings.dry_run else parts)
    if Path(name).name != name or name in (".", ".."):
        raise UserError(f"--run_name {name!r}: a name of one folder, without slashes")
    output = settings.output
    folder = output / ("dry_runs" if settings.dry_run else "runs") / name
    return Run(name, folder, output / "checkpoints" / name)

"""``./train.sh rehearse [flags of the real run]``: all of a run but its size and its devices, in minutes."""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from reward.support import redact
from reward.support.wording import shown
from trainer.commands.rehearsal import inputs, record, run_settings
from trainer.commands.rehearsal.rehearse_run import rehearse
from trainer.commands.rehearsal.stages import Rehearsal
from trainer.launch import processes
from trainer.runs import folders, lock
from trainer.settings.settings import Settings
from trainer.user_error import UserError, say


def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Rehearse, print the table, and keep the record; return 0, or 2 where a stage is at fault.

    Raises:
        UserError: the flags, a model or the data cannot be used; nothing was started.
    """
    if arguments:
        raise UserError(
            f"rehearse: takes the flags of a run and no other argument; leave out {shown(' '.join(arguments), 200)}"
        )
    if faults := folders.output_faults(settings):
        raise UserError(*faults)
    started, traces = time.monotonic(), processes.Traces()
    real = inputs.read(settings, say)
    settings = real.settings
    name = record.fingerprint(settings)[: record.LENGTH]
    folder = record.folder(settings.output) / name
    lock_fd = _take(folder)
    rehearsal = Rehearsal()
    try:
        say(f"rehearsing {settings.text('MODEL_PATH')} on {settings.text('DATA')} ({name}; logs: {folder})")
        for text in run_settings.cuts(settings):
            say(f"cut: {text}")
        for text in real.warnings:
            say(f"warning: {text}")
        print(flush=True)
        rehearse(settings, real, folder, rehearsal, traces)
    finally:  # an interrupted rehearsal has a record too
        processes.end_all(traces)
        seconds = time.monotonic() - started
        record.write(folder / record.FILE, rehearsal.stages, seconds)
        os.close(lock_fd)
    print("\n" + "\n".join(rehearsal.table()))
    if real.forecast:
        print("\nforecast of the real run:\n" + "\n".join(real.forecast))
    count = len(rehearsal.faults)
    say(f"\n{f'{count} at fault' if count else 'rehearsed without a fault'} ({seconds:.0f} s)")
    return 2 if count else 0


def _take(folder: Path) -> int:
    """Empty the folder of this configuration's rehearsals; return the lock that says it is in use.

    Raises:
        UserError: another rehearsal uses it.
    """
    redact.make_folder(folder.parent)
    lock_fd = lock.take(folder.parent / f"{folder.name}.lock", 0)
    if lock_fd is None:
        raise UserError("rehearse: a rehearsal with these flags is already running; wait for it, or end it")
    shutil.rmtree(folder, ignore_errors=True)
    redact.make_folder(folder)
    return lock_fd

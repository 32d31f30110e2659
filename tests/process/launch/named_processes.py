"""Processes that are called as those of a run, and what their stacks say."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from trainer import ROOT
from trainer.launch.hang import diagnosis, stacks

NOWHERE = Path(os.devnull)  # no process has a file of its own there
NAMED = "import setproctitle\nsetproctitle.setproctitle({title!r})\n"


@contextmanager
def running(*codes: tuple[str, str], keep: Sequence[int] = ()) -> Iterator[list[psutil.Process]]:
    """Processes by title and code, each of which says that it is ready."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = [
        subprocess.Popen(
            [sys.executable, "-c", NAMED.format(title=title) + textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=keep,
        )
        for title, code in codes
    ]
    try:
        for process in made:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        yield [psutil.Process(process.pid) for process in made]
    finally:
        for process in made:
            process.kill()
            process.communicate()


def examined(processes: list[psutil.Process], cause: str) -> tuple[diagnosis.Diagnosis, list[str]]:
    """Look until ``cause`` is told: a busy machine takes its time to bring the processes to where they hang."""
    deadline = time.monotonic() + 60
    while True:
        taken = stacks.take(processes, NOWHERE)
        found = diagnosis.find(taken)
        if (cause in found.cause and not any(each.fault for each in taken)) or time.monotonic() > deadline:
            assert [each.fault for each in taken] == [""] * len(processes)
            assert cause in found.cause
            return found, diagnosis.where(taken)
        time.sleep(0.2)


def stop(process: psutil.Process) -> None:
    """Stop a process, and wait until it stands."""
    process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + 30
    while process.status() != psutil.STATUS_STOPPED and time.monotonic() < deadline:
        time.sleep(0.01)

"""Stacks that a process writes by itself, for where no other may look into it: Python's faulthandler, by a signal.

py-spy needs the right to trace. Ubuntu gives it for a process's own children alone (``kernel.yama.ptrace_scope`` = 1),
containers often not at all.
"""

import contextlib
import faulthandler
import os
import re
import signal
import time
from pathlib import Path
from typing import IO

FOLDER = "KIT_STACKS"  # env var of a run's processes: where each writes its own
SIGNAL = signal.SIGUSR2
SECONDS = 2.0  # for an answer
SETTLED = 0.1  # seconds without another line, after which it is whole
FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')
HEAD = "(most recent call first)"

_file: IO[str] | None = None  # of this process


def register() -> None:
    """Write this process's stacks at each ``SIGNAL``, where it is of a run; and so in what is forked from it."""
    global _file
    folder = os.environ.get(FOLDER)
    if not folder or (_file is not None and Path(_file.name).name == str(os.getpid())):
        return
    first = _file is None
    with contextlib.suppress(OSError, RuntimeError):  # no room, or no folder on this machine: as without
        Path(folder).mkdir(mode=0o700, exist_ok=True)
        previous, _file = _file, (Path(folder) / str(os.getpid())).open("w", encoding="utf-8")
        faulthandler.register(SIGNAL, _file, all_threads=True)
        if previous is not None:
            previous.close()
        if first:
            os.register_at_fork(after_in_child=register)


def ask(pid: int, folder: Path) -> str:
    """Return the stacks that process ``pid`` writes; an empty text where it writes none.

    A process that has not registered is sent nothing: the signal would end it.
    """
    file = folder / str(pid)
    with contextlib.suppress(OSError, ValueError):
        if not _catches(pid):
            return ""
        start = size = file.stat().st_size
        os.kill(pid, SIGNAL)
        deadline = settled = time.monotonic() + SECONDS
        while time.monotonic() < min(deadline, settled):
            time.sleep(0.02)
            if (now := file.stat().st_size) != size:
                size, settled = now, time.monotonic() + SETTLED
        with file.open(encoding="utf-8", errors="replace") as opened:
            opened.seek(start)
            return opened.read()
    return ""


def parse(text: str) -> list[list[tuple[str, str, int]]]:
    """Return file, function and line of each call, innermost first, of each thread."""
    threads: list[list[tuple[str, str, int]]] = []
    for line in text.splitlines():
        if HEAD in line:
            threads.append([])
        elif threads and (frame := FRAME.fullmatch(line)):
            threads[-1].append((frame["file"], frame["function"], int(frame["line"])))
    return threads


def _catches(pid: int) -> bool:
    """Whether a process has a handler of its own for ``SIGNAL``."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (SIGNAL - 1) & 1)

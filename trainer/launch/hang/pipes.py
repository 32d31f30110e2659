"""Pipes that are full: whose writer waits, and who should read."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

WRITES = "pipe_write"  # the kernel's function that such a thread waits in (proc(5), wchan)


def waits(pid: int) -> bool:
    """Whether a thread of the process waits for room in a pipe."""
    with contextlib.suppress(OSError):
        return any(WRITES in (task / "wchan").read_text() for task in Path(f"/proc/{pid}/task").iterdir())
    return False


def readers(pid: int) -> list[int]:
    """Return the processes that have the other end of pipes open to which the process can write, but for itself."""
    written = {pipe for pipe, is_written in _pipes(pid) if is_written}
    others = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return sorted(
        other
        for other in others
        if other != pid and any(pipe in written and not is_written for pipe, is_written in _pipes(other))
    )


def _pipes(pid: int) -> Iterator[tuple[str, bool]]:
    """Yield the pipes that a process has open, and whether that is for writing."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError, StopIteration):
                if (target := str(entry.readlink())).startswith("pipe:"):
                    info = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text().splitlines()
                    flags = next(line for line in info if line.startswith("flags:"))
                    yield target, bool(int(flags.split()[1], 8) & os.O_ACCMODE)

"""The stacks of a run's processes on this machine: by py-spy, which stops none of them, or written by themselves."""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from trainer.launch.hang import pipes
from trainer.runs import stack_dump

SECONDS = 20.0  # for the stacks of one process
AT_ONCE = 4
LONGEST_TITLE = 160
STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


@dataclass(frozen=True)
class Frame:
    """One call of a stack."""

    file: str
    function: str
    line: int

    def __str__(self) -> str:
        """Return it as a person looks for it."""
        return f"{self.function} ({self.file}:{self.line})"


@dataclass(frozen=True)
class Process:
    """A process and its threads; of each thread the innermost call comes first.

    ``fault`` says why there are no stacks: it is no Python, or may not be looked into. ``pipe`` is where it waits for
    room in a pipe: who should read it.
    """

    pid: int
    title: str
    status: str  # as psutil names it
    threads: tuple[tuple[Frame, ...], ...] = ()
    fault: str = ""
    pipe: str = ""
    node: str = ""  # the machine, where it is another one

    @property
    def is_stopped(self) -> bool:
        """Whether somebody has stopped it: SIGSTOP, or a debugger."""
        return self.status in STOPPED

    def __str__(self) -> str:
        """Return it as a person looks for it."""
        return f"process {self.pid}" + f" on {self.node}" * bool(self.node)


def take(processes: Iterable[psutil.Process], folder: Path) -> list[Process]:
    """Return the processes with their stacks; those that have ended meanwhile are left out.

    ``folder`` is where those write their own that may not be looked into (``stack_dump.FOLDER``).
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [process for process in pool.map(partial(_look, folder=folder), processes) if process is not None]


def _look(process: psutil.Process, folder: Path) -> Process | None:
    if (seen := _stacks(process, folder)) is None or not pipes.waits(process.pid):
        return seen
    readers = pipes.readers(process.pid)
    return replace(seen, pipe=", ".join(f"process {reader} ({_name(reader)})" for reader in readers) or "nobody")


def _name(pid: int) -> str:
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return "ended"


def _stacks(process: psutil.Process, folder: Path) -> Process | None:
    try:
        title, status = " ".join(process.cmdline()) or process.name(), process.status()
        is_python = Path(process.exe()).name.startswith("python")
    except psutil.Error:
        return None
    if status == psutil.STATUS_ZOMBIE:
        return None
    title = title.strip()[:LONGEST_TITLE]
    if not is_python:
        return Process(process.pid, title, status, fault="no Python")
    try:
        return Process(process.pid, title, status, parse(_dump(process.pid)))
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
        if status not in STOPPED and (own := stack_dump.parse(stack_dump.ask(process.pid, folder))):
            threads = tuple(tuple(Frame(*call) for call in calls) for calls in own)
            return Process(process.pid, title, status, threads)
        return Process(process.pid, title, status, fault=_reason(error))


def _dump(pid: int) -> str:
    spy = Path(sys.executable).with_name("py-spy")
    command = [str(spy), "dump", "--nonblocking", "--json", "--pid", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True).stdout


def parse(text: str) -> tuple[tuple[Frame, ...], ...]:
    """Return the threads of what py-spy prints.

    Raises:
        ValueError: it is no JSON; KeyError, TypeError: of another form.
    """
    read: Sequence[dict[str, Any]] = json.loads(text)
    return tuple(
        tuple(Frame(str(call["filename"]), str(call["name"]), int(call["line"])) for call in thread["frames"])
        for thread in read
    )


def pack(processes: Iterable[Process], most: int) -> list[dict[str, Any]]:
    """Return the processes as JSON of at most ``most`` characters, for the head node; what does not fit is left out."""
    packed: list[dict[str, Any]] = []
    for process in processes:
        entry = asdict(process)
        most -= len(json.dumps(entry)) + 2
        if most < 0:
            break
        packed.append(entry)
    return packed


def unpack(entries: Any, node: str) -> list[Process]:
    """Return the processes that the machine ``node`` has packed.

    Raises:
        ValueError: it is of another form.
    """
    try:
        return [
            Process(
                **{name: entry[name] for name in ("pid", "title", "status", "fault", "pipe")},
                threads=tuple(tuple(Frame(**call) for call in calls) for calls in entry["threads"]),
                node=node,
            )
            for entry in entries
        ]
    except (KeyError, TypeError) as error:
        raise ValueError(f"no stacks: {error}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        error_lines = [line for line in (error.stderr or "").splitlines() if line.strip()]
        return error_lines[0] if error_lines else "py-spy failed"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"py-spy took more than {SECONDS:g} s"
    return f"py-spy: {error}"


def written(processes: Sequence[Process]) -> str:
    """Return all stacks as text."""
    lines: list[str] = []
    for process in processes:
        lines.append(f"{process.pid} [{process.status}] {process.title}" + f" on {process.node}" * bool(process.node))
        if process.pipe:
            lines.append(f"    waits for room in a pipe, read by: {process.pipe}")
        if process.fault:
            lines.append(f"    no stacks: {process.fault}")
        for number, frames in enumerate(process.threads):
            lines.append(f"  thread {number}")
            lines += [f"    {frame}" for frame in frames]
        lines.append("")
    return "\n".join(lines)

"""The run of a rehearsal as a person would start it: ``python -m trainer`` on each node, killed, and resumed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from reward.support import events, redact
from reward.support.secret import scrub
from reward.support.wording import shown
from trainer.commands.rehearsal.stages import StageFailed
from trainer.launch import processes
from trainer.settings.knobs import load_knobs

SILENT = 600.0  # seconds without an event or a line, after which a run stands still
ENDS = 60.0  # seconds for all processes of a run whose launcher was killed
POLL = 0.5


def clean_environment(knobs: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with other ``knobs``; secrets and a person's own env vars stay."""
    knob_envs = {knob.env for knob in load_knobs()} | {"KIT_GIVEN", "KIT_UNKNOWN"}
    return {env: text for env, text in os.environ.items() if env not in knob_envs} | dict(knobs)


class Training:
    """The launchers of one run, one a node; ``folder`` is the run's, ``logs`` what each of them says."""

    def __init__(self, environment: Mapping[str, str], arguments: Sequence[str], folder: Path, logs: Path) -> None:
        self.nodes = int(environment["NNODES"])
        self.environment, self.arguments, self.folder, self.logs = dict(environment), list(arguments), folder, logs
        self.launchers: list[subprocess.Popen[bytes]] = []
        self._events_start = 0

    def start(self, **knobs: str) -> None:
        """Start all nodes; ``knobs`` go before those of the rehearsal."""
        port = free_port()
        path = self.folder / events.FILE
        self._events_start = path.stat().st_size if path.is_file() else 0
        self.launchers = []
        for rank in range(self.nodes):
            place = {"MASTER_PORT": str(port), "NODE_RANK": str(rank)}
            place |= {"NODE_ADDR": f"127.0.0.{rank + 1}"} if rank else {}
            knobs_here = self.environment | knobs | (place if self.nodes > 1 else {})
            with redact.open_log(self.log(rank)) as log:
                self.launchers.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "trainer", *self.arguments],
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        env=clean_environment(knobs_here),
                        start_new_session=True,
                    )
                )

    def log(self, rank: int = 0) -> Path:
        """The file with what the launcher of a node says."""
        return self.logs / f"launcher-{rank}.log"

    def news(self) -> list[events.Event]:
        """Return the events since the run was last started."""
        path = self.folder / events.FILE
        if not path.is_file():
            return []
        with path.open("rb") as file:
            file.seek(self._events_start)
            return list(events.parse(file.read().decode(errors="replace").splitlines()))

    def wait(self, is_over: Callable[[list[events.Event]], bool]) -> None:
        """Wait until ``is_over`` of the events since the start.

        Raises:
            StageFailed: a launcher has ended before, or nothing happens any more.
        """
        size, since = -1, time.monotonic()
        while not is_over(self.news()):
            statuses = [
                launcher.poll() for launcher in self.launchers
            ]  # a worker node ends before the head node, with 0
            if (any(statuses) or None not in statuses) and not is_over(self.news()):
                raise StageFailed(self.fault())
            if (now := self._output_bytes()) != size:
                size, since = now, time.monotonic()
            if time.monotonic() - since > SILENT:
                raise StageFailed(f"nothing has happened for {SILENT:.0f} s; its log: {self.folder / 'train.log'}")
            time.sleep(POLL)

    def end(self) -> None:
        """Wait until the run has finished.

        Raises:
            StageFailed: it ended with another status than 0, or does not end.
        """
        self.wait(lambda _: all(launcher.poll() is not None for launcher in self.launchers))
        if any(launcher.returncode for launcher in self.launchers):
            raise StageFailed(self.fault())

    def kill(self) -> None:
        """Kill the head node's launcher as the kernel would, and wait until all of the run has ended by itself.

        Raises:
            StageFailed: processes are left.
        """
        launchers = [psutil.Process(launcher.pid) for launcher in self.launchers]
        family = [process for launcher in launchers for process in [launcher, *launcher.children(recursive=True)]]
        self.launchers[0].send_signal(signal.SIGKILL)
        for launcher in self.launchers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                launcher.wait(ENDS)
        survivors = psutil.wait_procs(family, timeout=ENDS)[1]
        names = {process.name() for process in survivors if process.is_running()}
        if names:
            raise StageFailed(
                f"{ENDS:.0f} s after the launcher was killed these processes are still running: "
                f"{', '.join(sorted(names))}"
            )

    def stop(self, traces: processes.Traces) -> None:
        """End whatever is left of the run, as at Ctrl-C."""
        for launcher in self.launchers:
            if launcher.poll() is None:
                launcher.send_signal(signal.SIGTERM)
        for launcher in self.launchers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                launcher.wait(ENDS)
        processes.end_all(traces)

    def fault(self) -> str:
        """Return in one line why the run ended."""
        texts = [self.log(rank).read_text(encoding="utf-8", errors="replace") for rank in range(self.nodes)]
        return cause_of("\n".join(texts)) + f" (log: {self.folder / 'train.log'})"

    def _output_bytes(self) -> int:
        files = [self.folder / events.FILE, self.folder / "train.log", *map(self.log, range(self.nodes))]
        return sum(file.stat().st_size for file in files if file.is_file())


def free_port() -> int:
    """Return a port of the loopback interface that is free now, and so is the next one, which is Ray's."""
    while True:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", 0)) as one:
            port = int(one.getsockname()[1])
            with socket.create_server(("127.0.0.1", port + 1)):
                return port


def cause_of(log: str) -> str:
    """Return the first complaint in what a command of the kit has said, as one line."""
    lines = log.splitlines()
    complaints = [line.removeprefix("train.sh: ") for line in lines if line.startswith("train.sh: ")]
    more = len(complaints) - 1
    text = complaints[0] if complaints else next((line for line in reversed(lines) if line.strip()), "it said nothing")
    return shown(scrub(text), 260) + f" (and {more} more faults)" * (more > 0)


def run_command(arguments: Sequence[str], knobs: Mapping[str, str], log: Path) -> list[str]:
    """Run ``python -m WORDS`` to its end; return the lines that it said.

    Raises:
        StageFailed: it ended with another status than 0.
    """
    # vLLM leaves its sockets there; a socket's path has 107 bytes at most.
    tmp = tempfile.TemporaryDirectory(prefix="ppo-kit-", dir="/tmp")
    with tmp as sockets, redact.open_log(log) as output, redact.LogPipe(output) as pipe:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=pipe.fd,
            stderr=subprocess.STDOUT,
            env=clean_environment({**knobs, "VLLM_RPC_BASE_PATH": sockets}),
        )
        try:
            status = process.wait(SILENT)
        except subprocess.TimeoutExpired:
            raise StageFailed(f"not finished after {SILENT:.0f} s; its log: {log}") from None
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    text = log.read_text(encoding="utf-8", errors="replace")
    if status:
        raise StageFailed(f"{cause_of(text)} (log: {log})")
    return [line for line in text.splitlines() if line.strip()]

"""The python of a run without a GPU: a script that stands in for it, and the fork server behind that script."""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainer import ROOT


@dataclass(frozen=True)
class ForkServer:
    """The server under its guard, and the script by which processes come from it."""

    python: Path
    process: "subprocess.Popen[bytes]"

    def end(self) -> None:
        """End it, as no run is going to need it: its imports take one core from whoever tells why."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)


def start(folder: Path, environment: Mapping[str, str]) -> ForkServer | None:
    """Start the fork server of the run whose temporary folder is ``folder``.

    Its imports take some 10 s for the driver and 20 s for all others, so this comes first. Who needs a process
    meanwhile waits for them. Where no file in
    ``folder`` can be executed (mounted ``noexec``), there is no server, and None is returned.
    """
    paths, script = [folder / "fork_driver.sock", folder / "fork_worker.sock"], folder / "python"
    client_command = [
        sys.executable,
        "-S",
        "-E",
        str(ROOT / "trainer" / "cpu" / "fork_client.py"),
        *map(str, paths),
        sys.executable,
    ]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(client_command)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    if not os.access(script, os.X_OK):
        return None
    alive, _ = os.pipe()  # the other end closes when this process ends, which tells the guard
    with contextlib.ExitStack() as files:
        output = files.enter_context((folder / "fork_server.log").open("wb"))
        listeners = [files.enter_context(socket.socket(socket.AF_UNIX)) for _ in paths]
        for listener, path in zip(listeners, paths, strict=True):
            listener.bind(str(path))
            listener.listen(64)
        numbers = [listener.fileno() for listener in listeners]
        server = [sys.executable, "-m", "trainer.cpu.fork_server", *map(str, numbers)]
        process = subprocess.Popen(
            [sys.executable, "-m", "trainer.launch.watchdog", str(folder), *server],
            stdin=alive,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**environment, "VLLM_LOGGING_LEVEL": "WARN"},  # as verl has it in each of Ray's workers
            pass_fds=numbers,
            start_new_session=True,
        )
    os.close(alive)
    return ForkServer(script, process)

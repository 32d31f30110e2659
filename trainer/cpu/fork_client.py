"""Stands in for ``python``: asks the fork server for a process that has imported the stack, and lives as long as it.

    python -S -E fork_client.py DRIVERS WORKERS PYTHON arguments of python ...

The server has a socket for each: a driver is started as a module (``-m``), a worker is not. What the server does not
take on is started by the real interpreter, in this very process. Standard library only, and little of it: this starts
in 20 ms.
"""

import json
import os
import signal
import socket
import sys

STAND_IN = "KIT_FORKED_PYTHON"  # env var: the script that starts this file
HEADER = 8  # bytes of a request's length
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def inherited() -> list[int]:
    """Return the file descriptors that the new process shall have."""
    descriptors = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            os.fstat(int(name))  # the listing's own is closed by now
        except OSError:
            continue
        descriptors.append(int(name))
    return sorted(descriptors)


def ask(connection: socket.socket, arguments: list[str], files: list[int]) -> int | None:
    """Return the id of the process that the server forked, None if it takes ``arguments`` for another's work."""
    request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd(), "files": files}  # noqa: PTH109
    text = json.dumps(request).encode()
    socket.send_fds(connection, [len(text).to_bytes(HEADER, "big")], files)
    connection.sendall(text)
    answer = _line(connection)
    return int(answer) if answer else None


def _line(connection: socket.socket) -> str:
    parts = b""
    while not parts.endswith(b"\n"):
        chunk = connection.recv(64)
        if not chunk:
            return ""
        parts += chunk
    return parts.decode().strip()


def main() -> None:
    """Be the process that was asked for."""
    drivers, workers, python, *arguments = sys.argv[1:]
    files = inherited()
    pid = None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(drivers if "-m" in arguments else workers)
        pid = ask(connection, arguments, files)
    except OSError:
        pass  # no server
    if pid is None:
        os.execv(python, [python, *arguments])
    for signal_number in FORWARDED:
        signal.signal(signal_number, lambda number, _: os.kill(pid, number))
    status = int(_line(connection) or 1)  # the server died, and took its children with it
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status in FORWARDED else None
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()

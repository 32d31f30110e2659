"""One owner at a time of a run's folder, also after the owner was killed: its lock ends with its last process."""

import fcntl
import os
import time
from pathlib import Path


def take(path: Path, timeout: float) -> int | None:
    """Return the open file that holds the lock, to be handed on to processes; None where another keeps it.

    ``timeout`` is in seconds: processes of a launcher that was killed take some to end.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
            time.sleep(0.2)

"""How a forked child becomes a program of its own: its streams, its environment, its end."""

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn


def take_over(environment: Mapping[str, str], out: str, err: str) -> None:
    """Read from nothing, write to the files ``out`` and ``err``, and have no other environment than this one."""
    for number, flags, file in ((0, os.O_RDONLY, os.devnull), (1, os.O_WRONLY, out), (2, os.O_WRONLY, err)):
        os.dup2(os.open(file, flags | os.O_CREAT * (number > 0), 0o600), number)
    os.environ.clear()
    os.environ.update(environment)


def run_and_exit(program: Callable[[], Any]) -> NoReturn:
    """Run ``program``, which may return a status, and end the process as Python would, but run no exit handlers."""
    try:
        status = program() or 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

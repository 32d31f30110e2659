"""The error that ends a run, told by the process that sees it: the launcher need not look for it in a log."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ray.exceptions import RayTaskError

from reward.support import events
from trainer.driver.judge_watch import JudgeStoppedError

HEADING = re.compile(r"ray::([^\s()]+)\(\)\S* \(pid=(\d+), ip=([^\s,)]+)")  # ray.exceptions.RayTaskError.__str__


@contextmanager
def failures() -> Iterator[None]:
    """Write what is raised inside to the run's events, and let it pass."""
    try:
        yield
    except JudgeStoppedError as stop:
        events.emit("driver", "stop", reason=str(stop))
        raise
    except Exception as error:
        cause, where = root(error)
        events.emit("driver", "failure", type=type(cause).__name__, text=str(cause).strip(), where=where)
        raise


def root(error: BaseException) -> tuple[BaseException, str]:
    """Return the error that Ray has brought from another process, and which process that is."""
    where = f"the trainer, pid={os.getpid()}"
    while isinstance(error, RayTaskError) and isinstance(error.cause, BaseException):
        where, error = _process(error) or where, error.cause
    return error, where


def _process(error: RayTaskError) -> str | None:
    """Return the process that raised the error, by the last heading in its text.

    The text names all processes that the error came through. Its attributes do not: what ``ray.get`` raises is of a
    class made for the cause, and has the attributes of the cause alone (ray 2.60).
    """
    for name, pid, ip in reversed(HEADING.findall(str(error))):
        return f"{name.split('.')[0]} pid={pid}, ip={ip}"
    return None

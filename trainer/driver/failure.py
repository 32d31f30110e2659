"""The error that ends a run, told by the process that sees it: the launcher need not look for it in a log."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ray.exceptions import RayTaskError

from reward.support import events
from trainer.driver.judge_watch import JudgeStoppedError


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
        where = f"{error.proctitle.removeprefix('ray::').split('.')[0]} pid={error.pid}, ip={error.ip}"
        error = error.cause
    return error, where

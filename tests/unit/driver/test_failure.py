"""The error that ends a run, as Ray brings it from other processes."""

import pytest
from ray import cloudpickle
from ray.exceptions import RayTaskError

from trainer.driver.failure import root


def raised(cause: Exception, process: str, pid: int, traceback: str) -> Exception:
    """Return what ``ray.get`` raises where a task of that process has raised ``cause``."""
    lines = f"Traceback (most recent call last):\n{traceback}\n{type(cause).__name__}: {cause}"
    error = RayTaskError("f", lines, cause, proctitle=process, pid=pid, ip="10.0.0.7")
    return cloudpickle.loads(cloudpickle.dumps(error)).as_instanceof_cause()


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_process_that_raised_it_is_named(depth: int) -> None:
    error: Exception = ValueError("the text")
    for level in range(depth):
        name = "ray::WorkerDict.actor_update" if level == 0 else "ray::TaskRunnerV1.run"
        error = raised(error, name, 70 + level, str(error) if level else "  File a.py")
    cause, where = root(error)
    assert (type(cause), str(cause)) == (ValueError, "the text")
    if depth:
        assert where == "WorkerDict pid=70, ip=10.0.0.7"
    else:
        assert where.startswith("the trainer, pid=")


def test_a_cause_that_cannot_be_subclassed() -> None:
    class Final(Exception):
        def __init_subclass__(cls) -> None:
            raise TypeError("final")

    error = RayTaskError(
        "f", "Traceback (most recent call last)\nx", ValueError("y"), proctitle="ray::A.b", pid=7, ip="h"
    )
    assert root(error)[1] == "A pid=7, ip=h"
    error.cause = Final("z")
    assert str(root(error)[0]) == "z"

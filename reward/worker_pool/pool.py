"""Asking a question of a process that is killed when it takes too long.

The other side is ``forkserver.py`` with ``tasks.py`` or ``reward/sandbox/tests_process/harness.py``. It bounds the time
of a question itself; a client ends only the server, its own child. Servers are started when first needed, reused
between calls and between threads, and end with this process.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from reward.support.errors import GraderFailed, GraderStarved, GraderTimeout
from reward.worker_pool import forkserver, frames

SECONDS = 5.0  # for one question, of CPU time where the server counts that
START_SECONDS = 120.0  # imports, on a machine that is busy
GRACE = 30.0  # more, until a server that answers nothing is given up
WORKERS = max(2, min(4, os.cpu_count() or 2))


class Worker:
    """One server and its child; used by one thread at a time."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment | {"KIT_PARENT": str(os.getpid())},  # with which it ends: reward/worker_pool/forkserver.py
            start_new_session=True,  # a Ctrl-C at the terminal is the run's business
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._replies = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._requests, False)
        self._asked = 0
        try:
            self._reply(time.monotonic() + START_SECONDS)  # its imports are done
        except GraderFailed as error:
            raise GraderFailed(f"the grader's process does not start ({error}); see config/requirements") from None

    def ask(self, request: dict[str, Any], seconds: float) -> Any:
        """Return the answer.

        Raises:
            GraderTimeout: there is none after ``seconds``; the server has killed its child.
            GraderStarved: likewise, and the machine had other work all the while.
            GraderFailed: the task raised, its process died or answered in another form than asked for, or the server
                itself is gone (``alive``).
        """
        deadline = time.monotonic() + forkserver.MOST_WALL_PER_CPU * seconds + GRACE
        self._asked += 1
        try:
            frames.send(self._requests, frames.pack(self._asked, seconds, json.dumps(request).encode()), deadline)
        except (frames.Closed, TimeoutError):
            self.close()
            raise GraderFailed("the grader's process has ended") from None
        reply = self._reply(deadline)
        if "late" in reply:
            raise GraderTimeout(f"no verdict after {seconds:g} s")
        if "starved" in reply:
            raise GraderStarved(f"less than {seconds:g} s of CPU time in {forkserver.MOST_WALL_PER_CPU * seconds:g} s")
        if "error" in reply:
            raise GraderFailed(reply["error"])
        return reply["value"]

    @property
    def alive(self) -> bool:
        """Whether the server still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the server, which takes its child with it and removes what it made."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def _reply(self, deadline: float) -> dict[str, Any]:
        """Return the server's reply to the last question; a server without one is ended."""
        try:
            number, _, body = frames.receive(self._replies, deadline)
            if number == self._asked:
                return dict(json.loads(body))
            problem = "it answers another question"
        except frames.Closed:
            problem = "it has ended"
        except TimeoutError:
            problem = "it does not answer"
        self.close()
        raise GraderFailed(f"the grader's process: {problem}")


class Pool:
    """At most ``size`` workers, for any number of threads."""

    def __init__(self, size: int, make: Callable[[], Worker]) -> None:
        self._size, self._make = size, make
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # a fork must not share its parent's pipes

    def _reset(self) -> None:
        self._free = threading.BoundedSemaphore(self._size)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []

    def ask(self, request: dict[str, Any], seconds: float) -> Any:
        """Return the answer of a worker that is free.

        Raises:
            GraderTimeout: it took longer than ``seconds``.
            GraderFailed: it broke.
        """
        with self._free:
            worker = self._take() or self._make()
            try:
                answer = worker.ask(request, seconds)
            except GraderFailed:
                self._give_back(worker)
                raise
            except OSError as error:
                worker.close()
                raise GraderFailed(f"the grader's process is gone ({error})") from None
            except BaseException:  # an interrupt: question and answer are out of step
                worker.close()
                raise
            self._give_back(worker)
            return answer

    def _take(self) -> Worker | None:
        """Return an idle worker whose server runs; others are dropped."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None or worker.alive:
                return worker
            worker.close()

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            self._idle.append(worker)


def _worker(main: str = "main()") -> Worker:
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    environment = keep | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return Worker([sys.executable, "-c", f"from reward.worker_pool.tasks import main; {main}"], environment)


_pool = Pool(WORKERS, _worker)
_light = Pool(WORKERS, lambda: _worker("main(dict)"))  # which imports nothing before its first task
LIGHT = frozenset({"python"})


def ask(task: str, seconds: float = SECONDS, **arguments: Any) -> Any:
    """Return what ``task`` (of ``worker.TASKS``) answers.

    Raises:
        GraderTimeout: it took longer than ``seconds``.
        GraderFailed: it broke.
    """
    try:
        return (_light if task in LIGHT else _pool).ask({"task": task, **arguments}, seconds)
    except GraderFailed as error:
        raise type(error)(f"{task}: {error}") from None


class AnswerFault(Exception):
    """A grader does not survive an answer, or takes too long, and it is the answer's doing: it is wrong."""


def ask_about_answer(task: str, harmless: dict[str, Any], **arguments: Any) -> bool:
    """Return what ``task`` answers about a stranger's answer, which may be written to stall it.

    Args:
        task: as of ``ask``.
        harmless: arguments instead of the answer's, with which nothing but the ground truth can stall.
        **arguments: as of ``ask``.

    Raises:
        AnswerFault: the grader stalls or breaks with the answer, and does neither with ``harmless``.
        GraderTimeout: it took too long with either, or the machine gave it no time (``GraderStarved``).
        GraderFailed: it broke with either.
    """
    try:
        return bool(ask(task, **arguments))
    except GraderStarved:
        raise
    except GraderFailed:
        _ask_once(task, json.dumps(arguments | harmless))
        raise AnswerFault from None


@lru_cache(maxsize=4096)
def _ask_once(task: str, arguments: str) -> None:
    ask(task, **json.loads(arguments))

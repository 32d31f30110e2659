"""One forked child of a server (``forkserver.py``): its pipes, its answer, its end."""

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

from reward.worker_pool import frames
from reward.worker_pool.parent_death import die_with_parent

NO_REQUEST = 3  # exit status of a child whose stdin has ended
LONGEST_ANSWER = 16_384  # bytes of a child's answer
MOST_DESCRIPTORS = 1024
Place = TypeVar("Place")


class Broken(Exception):
    """A child gave no answer that can be believed."""


class Child(Generic[Place]):
    """One forked process and the server's ends of its pipes."""

    def __init__(self, turn: Callable[[Place], int], place: Place) -> None:
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            server, self._pid = os.getpid(), os.fork()
        except OSError:
            for end in ends:
                os.close(end)
            raise
        if not self._pid:
            _be_child(turn, place, server, ends[0], ends[3])
        self.requests, self.answers = ends[1], ends[2]
        os.close(ends[0])
        os.close(ends[3])
        os.set_blocking(self.requests, False)

    def end(self) -> None:
        """Kill it, if it still runs.

        Until it is waited for, here only, its process id cannot become another process's.
        """
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self.requests)
        os.close(self.answers)

    def cpu_seconds(self) -> float:
        """CPU time that it has used."""
        return time.clock_gettime((~self._pid << 3) | 2)  # the clock of a process, as clock_getcpuclockid(3) makes it

    def exchange(
        self,
        request: bytearray,
        seconds: float,
        to_the_end: bool,
        on_wait: Callable[[], None],
        more: Callable[[], float] = lambda: 0.0,
    ) -> bytes:
        """Return the line that it answers, which is all that it writes (``to_the_end``: until it closes its stdout).

        The request is written from where it lies, with no copy (``frames.wipe``).

        Raises:
            Broken: it is not one line, or too long.
            TimeoutError: it is not there after ``seconds``, and ``more`` seconds after these, until that is 0.
        """
        deadline = time.monotonic() + seconds
        unsent, line_end, answer = memoryview(request), memoryview(b"\n"), bytearray()
        while True:
            if not unsent:
                unsent, line_end = line_end, line_end[:0]
            events = {self.answers: select.POLLIN} | ({self.requests: select.POLLOUT} if unsent else {})
            ready = frames.wait(events, deadline, on_wait)
            if not ready:
                further = more()
                if further <= 0:
                    raise TimeoutError
                deadline = time.monotonic() + further
            if self.requests in ready:
                unsent = self._write(unsent)
            if self.answers in ready:
                chunk = os.read(self.answers, LONGEST_ANSWER)
                answer += chunk
                if len(answer) > LONGEST_ANSWER:
                    raise Broken("too long an answer")
                if not chunk or (b"\n" in answer and not to_the_end):
                    break
        if answer.count(b"\n") != 1 or not answer.endswith(b"\n"):
            raise Broken("no answer of one line")
        return bytes(answer)

    def _write(self, data: memoryview) -> memoryview:
        try:
            return data[os.write(self.requests, data) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            return data[:0]  # it has ended, or reads no further: its answer decides


def _be_child(turn: Callable[[Place], int], place: Place, server: int, requests: int, answers: int) -> NoReturn:
    """Take a turn with two pipes and nothing else of the server's, and exit."""
    status = 1
    try:
        die_with_parent()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.dup2(requests, 0)
        os.dup2(answers, 1)
        os.closerange(3, MOST_DESCRIPTORS)
        status = turn(place) if os.getppid() == server else NO_REQUEST
    except BrokenPipeError:
        status = NO_REQUEST
    finally:
        os._exit(status)


def read_line() -> bytes:
    """Return the next line of stdin, in the child; empty where it has ended."""
    parts = []
    while chunk := os.read(0, 65_536):
        parts.append(chunk)
        if chunk.endswith(b"\n"):
            return b"".join(parts)
    return b""

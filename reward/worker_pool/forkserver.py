"""A server that forks a child to answer requests, and believes nothing of it but an answer of the right form.

    client  -- frames (frames.py) -->  server  -- one line -->  child
    (pool.py)                          (here)                   (a turn: tasks.py, or the sandbox's harness.py)

A child may run a stranger's code. It has a fresh pair of pipes as stdin and stdout and no other descriptor of the
server's; no process id goes through them. The server bounds its answer in bytes and time, checks its form, and adds
the request's number itself: whatever a child writes concerns the one sample that it was asked about. The client may
die at any moment by SIGKILL. Then the server ends within ``frames.LOOK`` seconds and takes its child with it, even if
the other end of its pipes is still held open by a process that was forked meanwhile.
"""

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, NoReturn, TypeVar

from reward.worker_pool import frames
from reward.worker_pool.parent_death import die_with_parent

NO_REQUEST = 3  # exit status of a child whose stdin has ended
LONGEST_ANSWER = 16_384  # bytes of a child's answer
LONGEST_TEXT = 1_000  # characters of a text in it
LONGEST_PAUSE = 1.0  # seconds before another try, after children that failed
REFUSING_PAUSE = 0.1  # seconds; from this pause on, requests are refused
MOST_DESCRIPTORS = 1024
NEVER = float("inf")
PATIENCE = 6  # times a limit of CPU time: the longest that a machine may take for it
Place = TypeVar("Place")
Answer = dict[str, Any]


class Broken(Exception):
    """A child gave no answer that can be believed."""


def is_answer(answer: Any, is_value: Callable[[Any], bool]) -> bool:
    """Whether an answer is ``{"value": ...}`` or ``{"error": text}`` and nothing else."""
    if type(answer) is not dict or len(answer) != 1:
        return False
    return is_text(answer["error"]) if "error" in answer else "value" in answer and is_value(answer["value"])


def is_bool(value: Any) -> bool:
    """Whether ``value`` is a verdict of yes or no."""
    return type(value) is bool


def is_text(value: Any) -> bool:
    """Whether ``value`` is a line of bounded length that can be printed."""
    return type(value) is str and len(value) <= LONGEST_TEXT and value.isprintable()


def printable(text: str) -> str:
    """Return a text as ``is_text`` wants it."""
    return "".join(character if character.isprintable() else " " for character in text[:LONGEST_TEXT])


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


class ForkingServer(Generic[Place]):
    """Hands requests to children, one at a time."""

    def __init__(
        self,
        turn: Callable[[Place], int],
        place: Callable[[], AbstractContextManager[Place]],
        is_value: Callable[[Any], bool],
        one_shot: bool,
        cpu_time: bool,
    ) -> None:
        self._turn, self._place, self._is_value = turn, place, is_value
        self._one_shot, self._cpu_time = one_shot, cpu_time
        self._parent = int(os.environ.pop("KIT_PARENT", "") or os.getppid())
        self._requests, self._replies = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)  # whatever a library prints is no reply
        os.close(null)
        os.set_blocking(self._replies, False)
        self._greeted = False

    def serve(self) -> None:
        """Answer until the client is gone.

        Raises:
            Closed: it is.
        """
        pause = 0.0
        while True:
            self._look()
            problem, answered = "it ends at once", False
            try:
                with self._place() as place:
                    answered = self._with_child(place)
            except OSError as error:  # no room, no process: a fault of the machine, which may pass
                problem = error.strerror or str(error)
            pause = 0.0 if answered else min(LONGEST_PAUSE, 2 * pause or 0.01)
            self._rest(pause, problem)

    def _with_child(self, place: Place) -> bool:
        """Ask a child until it can be asked no more; return whether it was there for a request."""
        child, answered = Child(self._turn, place), False
        try:
            self._greet()
            while True:
                ready = frames.wait({self._requests: select.POLLIN, child.answers: select.POLLIN}, NEVER, self._look)
                if child.answers in ready:  # it has ended, or writes what nobody asked for
                    return answered
                number, seconds, request = frames.receive(self._requests, NEVER, self._look)
                answer, answered = self._ask(child, request, seconds), True
                self._reply(number, answer or {"error": "the grader's process gave no verdict"})
                if self._one_shot or answer is None or answer.keys() & {"late", "starved"}:
                    return True
        finally:
            child.end()

    def _ask(self, child: Child[Place], request: bytearray, seconds: float) -> Answer | None:
        """Return the answer to a request, ``{"late": True}`` after ``seconds``; None where there is none to believe.

        Where CPU time counts, a child that has had less of it in ``PATIENCE`` times as long is ``{"starved": True}``.
        The request is wiped: it holds tests, and the next child may run code that searches its memory for them.
        """
        began, last = child.cpu_seconds(), time.monotonic() + PATIENCE * seconds

        def left() -> float:
            return began + seconds - child.cpu_seconds() if self._cpu_time else 0.0

        try:
            line = child.exchange(
                request, seconds, self._one_shot, self._look, lambda: min(left(), last - time.monotonic())
            )
            answer = json.loads(line)
        except (Broken, ValueError, RecursionError):
            return None
        except TimeoutError:
            return {"starved": True} if left() > 0 else {"late": True}
        finally:
            frames.wipe(request)
        return answer if is_answer(answer, self._is_value) else None

    def _rest(self, seconds: float, problem: str) -> None:
        """Wait before the next child; where several have failed, requests are refused meanwhile."""
        if seconds < REFUSING_PAUSE:
            time.sleep(seconds)
            return
        self._greet()
        deadline = time.monotonic() + seconds
        while frames.wait({self._requests: select.POLLIN}, deadline, self._look):
            number, _, request = frames.receive(self._requests, NEVER, self._look)
            frames.wipe(request)
            self._reply(number, {"error": f"the grader's process does not start ({problem})"})

    def _greet(self) -> None:
        """Tell the client, once, that questions are answered, if only by a refusal."""
        if not self._greeted:
            self._reply(0, {"value": True})
            self._greeted = True

    def _reply(self, number: int, answer: Answer) -> None:
        frames.send(self._replies, frames.pack(number, 0.0, json.dumps(answer).encode()), NEVER, self._look)

    def _look(self) -> None:
        """End with who started this server, or when it says so."""
        if os.getppid() != self._parent or signal.SIGTERM in signal.sigpending():
            raise frames.Closed


def run(
    turn: Callable[[Place], int],
    place: Callable[[], AbstractContextManager[Place]],
    is_value: Callable[[Any], bool] = is_bool,
    one_shot: bool = False,
    cpu_time: bool = False,
    prepare: Callable[[], object] = lambda: None,
) -> None:
    """Answer the requests that come on stdin, until the client is gone.

    Args:
        turn: what a child does with its place: answer each line of its stdin with one on stdout; returns its status.
        place: makes, and in the end removes, what one child works in.
        is_value: whether a child's value has the right form.
        one_shot: a child answers one request, and its answer is all that it writes until it ends.
        cpu_time: the seconds of a request are those of CPU: a child that computes is not late for others' work.
        prepare: is called before the first child, where whatever a library prints goes nowhere.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, as some parents leave it, children would not be kept
    # Blocked, and looked for where the server waits: no place is left half made or half removed.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    server = ForkingServer(turn, place, is_value, one_shot, cpu_time)
    prepare()
    with contextlib.suppress(frames.Closed):
        server.serve()


def line() -> bytes:
    """Return the next line of a child's stdin; empty where it has ended."""
    parts = []
    while chunk := os.read(0, 65_536):
        parts.append(chunk)
        if chunk.endswith(b"\n"):
            return b"".join(parts)
    return b""

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
from typing import Any, Generic

from reward.worker_pool import frames
from reward.worker_pool.child import Broken, Child, Place

LONGEST_TEXT = 1_000  # characters of a text in a child's answer
LONGEST_PAUSE = 1.0  # seconds before another try, after children that failed
REFUSING_PAUSE = 0.1  # seconds; from this pause on, requests are refused
NEVER = float("inf")
MOST_WALL_PER_CPU = 6  # wall seconds that a busy machine may take for each second of a limit of CPU time
Answer = dict[str, Any]


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

        Where CPU time counts, a child that has had less of it in ``MOST_WALL_PER_CPU`` times as long is
        ``{"starved": True}``.
        The request is wiped: it holds tests, and the next child may run code that searches its memory for them.
        """
        began, last = child.cpu_seconds(), time.monotonic() + MOST_WALL_PER_CPU * seconds

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

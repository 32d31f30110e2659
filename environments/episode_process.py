"""``python -m environments.episode_process FD SPEC``: loads an environment, and forks one process for each episode.

Socket ``FD`` brings a number with a socket for each episode, and the number once more where its process is to end. An
episode's process writes a line when it begins, one when the environment is made, and then one line of JSON for each
that it reads: ``{"reset": seed}``, ``{"step": text}``, or ``{"suggest": turns_left, "chance": seed}`` for an action,
good or (``turns_left`` 0) at random. It ends when its socket is closed.
"""

import contextlib
import json
import os
import random
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from environments import make
from environments.players import ScriptedPlayer, at_random
from environments.session import Session
from environments.spec import EnvSpec
from environments.text_env import EnvironmentFault, EpisodeError, rules_of
from reward.support.wording import user_code_error_text
from reward.worker_pool.parent_death import die_with_parent

Answer = dict[str, Any]
Served = tuple[Answer, Callable[[dict[str, Any]], Answer]]  # what is told first, and what answers requests


def main(descriptor: int, text: str) -> None:
    """Load the environment, and fork for each socket that comes."""
    spec = EnvSpec.from_json(text)

    def load() -> None:
        with contextlib.suppress(EnvironmentFault):  # told to each episode, where it is made
            make.prepare(spec)

    def begin() -> Served:
        session, player = Session(spec, make.make(spec)), ScriptedPlayer()
        return {"rules": rules_of(session.env)}, lambda request: _answer(session, player, request)

    fork_for_each(descriptor, load, begin)


def fork_for_each(descriptor: int, load: Callable[[], None], begin: Callable[[], Served]) -> None:
    """Load once, then serve each socket that comes in a process of its own, until the other side closes.

    ``begin`` makes what an episode has; an ``EnvironmentFault`` of it is told to the other side.
    """
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # at Ctrl-C, the parent ends this
    load()
    control = socket.socket(fileno=descriptor)
    children: dict[bytes, int] = {}  # number -> pid; none is waited for before its end, so no pid is another's by then
    ended: set[int] = set()
    while True:
        number, descriptors, _, _ = socket.recv_fds(control, 32, 1)
        if not number:
            return
        ended = {pid for pid in ended if os.waitpid(pid, os.WNOHANG)[0] == 0}
        if not descriptors:
            if pid := children.pop(number, 0):
                _end(pid)
                ended.add(pid)
            continue
        if not (pid := os.fork()):
            control.close()
            with socket.socket(fileno=descriptors[0]) as connection:
                _serve(connection, begin)
            os._exit(0)
        children[number] = pid
        os.close(descriptors[0])


def _end(pid: int) -> None:
    """End a child with all that it has started."""
    for end in (os.killpg, os.kill):  # it may not have a group yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def _serve(connection: socket.socket, begin: Callable[[], Served]) -> None:
    os.setsid()  # a group of its own, which is ended as a whole
    die_with_parent()
    with connection.makefile("rb") as requests, connection.makefile("wb", buffering=0) as answers:

        def tell(answer: Answer) -> None:
            answers.write(json.dumps(answer).encode() + b"\n")

        with contextlib.suppress(BrokenPipeError):
            tell({"begun": True})
            try:
                first_answer, answer = begin()
            except EnvironmentFault as fault:
                tell({"error": str(fault)})
                return
            tell(first_answer)
            for line in requests:
                tell(answer(json.loads(line)))


def _answer(session: Session, player: ScriptedPlayer, request: dict[str, Any]) -> dict[str, Any]:
    try:
        if "suggest" in request:
            return {"action": _action(session, player, request["suggest"], random.Random(request["chance"]))}
        if "reset" in request:
            return asdict(session.reset(request["reset"]))
        return asdict(session.step(request["step"]))
    except EpisodeError as error:
        return {"error": str(error)}
    except BaseException as error:  # sys.exit, KeyboardInterrupt
        return {"error": f"the environment raised {user_code_error_text(error)}"}


def _action(session: Session, player: ScriptedPlayer, turns_left: int, chance: random.Random) -> str | None:
    if not turns_left:
        return at_random(session.env, chance)
    try:
        return player.best_action(session.env, turns_left)
    except Exception as error:  # of a stranger's best_action
        why = user_code_error_text(error, session.spec.name.rpartition(":")[0])
        raise EpisodeError(f"best_action raised {why}") from None


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

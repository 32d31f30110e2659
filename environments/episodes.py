"""Many episodes at once, for asyncio: each of a user's environment in a process of its own, that can be ended.

A built-in game is stepped where it is called, as that takes microseconds. Any other environment is loaded once, by a
process (``environments/episode_process.py``) that forks one for each episode: a step that is slow, hangs or crashes
holds up nothing but its own episode.
"""

import asyncio
import contextlib
import functools
import itertools
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from environments.make import is_game, make
from environments.players import ScriptedPlayer, at_random
from environments.session import Session, Turn
from environments.spec import EnvSpec
from environments.text_env import EnvironmentFault, EpisodeError, rules_of

__all__ = ["EpisodeError", "Episodes", "Turn"]

ROOT = Path(__file__).parents[1]
LOADING = 60.0  # seconds for importing the environment, beside its time limit
LONGEST_LINE = 1 << 21  # bytes of an answer
NO_ANSWER = "its process writes something else than answers to its answer channel"
FORM: dict[str, tuple[type, ...]] = {  # of a turn
    "observation": (str,),
    "reward": (float, int),
    "terminated": (bool,),
    "truncated": (bool,),
    "info": (dict,),
}


class Specification(Protocol):
    """What a process is started with."""

    @property
    def timeout(self) -> float:
        """Seconds for one request."""

    def to_json(self) -> str:
        """Return it for the process."""


class Episodes:
    """The episodes under way, by a name that the caller gives; ``workers`` is how many are stepped at a time."""

    def __init__(self, spec: EnvSpec, workers: int = 64):
        self.spec = spec
        self._limit = asyncio.Semaphore(workers)
        self._sessions: dict[str, Session] = {}
        self._unused: list[Session] = []
        self._processes: dict[str, EpisodeProcess] = {}
        self._starter = Starter(spec)
        self._player = ScriptedPlayer()

    async def rules(self) -> str:
        """Return what the model is told before the first observation.

        Raises:
            EpisodeError: the environment cannot be made.
        """
        if is_game(self.spec.name):
            session = self._new_session()
            self._unused.append(session)
            return rules_of(session.env)
        process = await self._starter.start()
        try:
            return process.rules
        finally:
            process.end()

    async def reset(self, episode: str, seed: int) -> Turn:
        """Begin the episode of ``seed``; its turn has a reward of 0.

        Raises:
            EpisodeError: the environment cannot be made, breaks, or takes longer than its limit.
        """
        if is_game(self.spec.name):
            session = self._sessions[episode] = self._unused.pop() if self._unused else self._new_session()
            return session.reset(seed)
        await self.close(episode)
        async with self._limit:
            process = self._processes[episode] = await self._starter.start()
        return await self._ask(episode, process, {"reset": seed})

    async def reset_again(self, episode: str, seed: int) -> Turn:
        """Begin the episode of ``seed`` in the environment of an episode that is under way, as ``reset``."""
        if is_game(self.spec.name):
            return self._sessions[episode].reset(seed)
        return await self._ask(episode, self._processes[episode], {"reset": seed})

    async def suggest(self, episode: str, turns_left: int, chance: random.Random) -> str | None:
        """Return a good action now, with ``turns_left`` turns; with 0 one at ``chance``.

        None where the environment has no good one to say, or names none.

        Raises:
            EpisodeError: as ``step``.
        """
        if is_game(self.spec.name):
            env = self._sessions[episode].env
            return self._player.best_action(env, turns_left) if turns_left else at_random(env, chance)
        asked = {"suggest": turns_left, "chance": chance.getrandbits(32)}
        action = (await self._asked(episode, self._processes[episode], asked)).get("action")
        return action if isinstance(action, str) else None

    async def step(self, episode: str, action: str) -> Turn:
        """Give an episode the model's words.

        Raises:
            EpisodeError: the environment breaks, or takes longer than its limit; the episode is over then.
        """
        if is_game(self.spec.name):
            return self._sessions[episode].step(action)
        return await self._ask(episode, self._processes[episode], {"step": action})

    async def close(self, episode: str) -> None:
        """Forget an episode; of one that is not there, nothing happens."""
        if session := self._sessions.pop(episode, None):
            self._unused.append(session)
        if process := self._processes.pop(episode, None):
            process.end()

    async def shutdown(self) -> None:
        """End every process."""
        for episode in list(self._processes):
            await self.close(episode)
        self._starter.end()

    def _new_session(self) -> Session:
        try:
            return Session(self.spec, make(self.spec))
        except EnvironmentFault as fault:
            raise EpisodeError(str(fault)) from None

    async def _ask(self, episode: str, process: "EpisodeProcess", request: dict[str, Any]) -> Turn:
        answer = await self._asked(episode, process, request)
        if any(type(answer.get(name)) not in kinds for name, kinds in FORM.items()) or answer.keys() != FORM.keys():
            await self.close(episode)
            raise EpisodeError(NO_ANSWER)
        return Turn(**answer)

    async def _asked(self, episode: str, process: "EpisodeProcess", request: dict[str, Any]) -> dict[str, Any]:
        try:
            async with self._limit:
                return await process.ask(request, self.spec.timeout)
        except EpisodeError:
            await self.close(episode)
            raise


class Starter:
    """Starts the process that has loaded the environment or the tools, and has it fork one for an episode.

    ``module`` is what that process runs, with ``spec`` as JSON.
    """

    def __init__(self, spec: Specification, module: str = "environments.episode_process"):
        self._spec, self._module = spec, module
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._count = itertools.count()
        self._lock = asyncio.Lock()

    async def start(self) -> "EpisodeProcess":
        """Return a new episode's process.

        Raises:
            EpisodeError: the environment cannot be loaded or made.
        """
        ours, theirs = socket.socketpair()
        number = str(next(self._count)).encode()
        async with self._lock:
            with theirs:
                if self._process is None or self._process.poll() is not None:
                    self._launch()
                assert self._control is not None
                try:
                    socket.send_fds(self._control, [number], [theirs.fileno()])
                except OSError as error:
                    ours.close()
                    raise EpisodeError("the process that loads it has ended") from error
        reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
        process = EpisodeProcess(reader, writer, functools.partial(self._end_one, number))
        try:
            await process.hello(LOADING + self._spec.timeout)
        except EpisodeError:
            process.end()
            if not process.begun:  # it hangs or broke where it loads: the next one loads anew
                self.end()
            raise
        return process

    def _launch(self) -> None:
        self.end()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        command = [sys.executable, "-m", self._module, str(theirs.fileno()), self._spec.to_json()]
        with theirs:
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def _end_one(self, number: bytes) -> None:
        """Have the process end the one that it has forked for an episode: only it knows which that is."""
        if self._control is not None:
            try:
                self._control.send(number, socket.MSG_DONTWAIT)
            except OSError:  # it has ended, or it hangs
                self.end()

    def end(self) -> None:
        """End the process; those of episodes end with it."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class EpisodeProcess:
    """The process of one episode, spoken to in lines of JSON."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, end: Callable[[], None]):
        self._reader, self._writer, self._end = reader, writer, end
        self.begun = False
        self.rules = ""  # of the environment, once it is made

    async def hello(self, seconds: float) -> None:
        """Wait until the environment is made.

        Raises:
            EpisodeError: it cannot be.
        """
        await self._line(f"loading it took more than {seconds:g} s", seconds)
        self.begun = True
        made_reply = await self._line(f"making the environment took more than {seconds:g} s (--env_timeout)", seconds)
        self.rules = str(made_reply.get("rules", ""))

    async def ask(self, request: dict[str, Any], seconds: float, flag: str = "--env_timeout") -> dict[str, Any]:
        """Return the answer to ``request``.

        Raises:
            EpisodeError: there is none within ``seconds``, or the environment broke.
        """
        what = next(iter(request)).replace("suggest", "best_action").replace("calls", "a call")
        with contextlib.suppress(ConnectionError):  # told by the line that does not come
            self._writer.write(json.dumps(request).encode() + b"\n")
            await self._writer.drain()
        return await self._line(f"{what} takes more than {seconds:g} s ({flag})", seconds)

    async def _line(self, late: str, seconds: float) -> dict[str, Any]:
        try:
            line = await asyncio.wait_for(self._reader.readline(), seconds)
        except asyncio.TimeoutError:
            raise EpisodeError(late) from None
        except (ConnectionError, ValueError):
            line = b""
        if not line.endswith(b"\n"):
            raise EpisodeError("its process has ended, by a crash or by sys.exit")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise EpisodeError(NO_ANSWER)
        if error := answer.pop("error", None):
            raise EpisodeError(str(error))
        return answer

    def end(self) -> None:
        """End the process with all that it has started."""
        self._end()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._writer.close()

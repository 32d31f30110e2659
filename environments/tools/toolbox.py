"""The tools of many episodes at once, for asyncio: those of each episode in a process of its own, that can be ended.

The calculator is called where it is asked for.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from environments.episodes import NO_ANSWER, EpisodeProcess, Starter
from environments.text_env import EpisodeError
from environments.tools.calls import Call, answer
from environments.tools.load import AT_ONCE, load
from environments.tools.spec import ERROR, ToolsSpec

LONGEST_ARGUMENT = 1 << 16  # bytes; Linux takes twice that in an argument of a program


class Toolboxes:
    """The tools of the episodes under way, by a name that the caller gives; ``workers`` call at a time."""

    def __init__(self, spec: ToolsSpec, workers: int = 64):
        self.spec = spec
        self._limit = asyncio.Semaphore(workers)
        short = spec if len(spec.to_json()) < LONGEST_ARGUMENT else replace(spec, schemas=())
        self._starter = Starter(short, "environments.tools.process")
        self._processes: dict[str, EpisodeProcess] = {}
        self._calls_made: Counter[str] = Counter()
        self._at_once = load([AT_ONCE], spec.schemas) if AT_ONCE in spec.sources else {}

    async def call(self, episode: str, calls: Sequence[Call]) -> list[str]:
        """Make the calls of one turn, one after another, and return the answer to each.

        What goes wrong with a call is its answer. At the time limit, or when the process ends, the answers of the turn
        are lost, and what the tools had kept; the next call begins anew.

        Raises:
            EpisodeError: the tools cannot be loaded.
        """
        calls_left = self.spec.max_calls - self._calls_made[episode]
        self._calls_made[episode] += len(calls)
        answers = await self._answers(episode, calls[: max(0, calls_left)])
        return [*answers, *[f"{ERROR}no more calls: the limit is {self.spec.max_calls}"] * (len(calls) - len(answers))]

    async def _answers(self, episode: str, calls: Sequence[Call]) -> list[str]:
        if not calls:
            return []
        if self.spec.sources == (AT_ONCE,) or all(call.name in self._at_once for call in calls):
            return [answer(self._at_once, call, self.spec.max_answer) for call in calls]
        async with self._limit:
            await self.start(episode)
            request = {"calls": [[call.name, call.arguments] for call in calls]}
            try:
                reply = await self._processes[episode].ask(request, self.spec.timeout, "--tool_timeout")
                answers = reply.get("answers")
                if not isinstance(answers, list) or len(answers) != len(calls):
                    raise EpisodeError(NO_ANSWER)
            except EpisodeError as error:
                self._processes.pop(episode).end()
                return [f"{ERROR}{error}"] * len(calls)
        return list(map(str, answers))

    async def start(self, episode: str) -> None:
        """Have the tools of an episode ready.

        Raises:
            EpisodeError: they cannot be loaded.
        """
        if episode not in self._processes:
            self._processes[episode] = await self._starter.start()

    async def close(self, episode: str) -> None:
        """Forget an episode; of one that is not there, nothing happens."""
        del self._calls_made[episode]
        if process := self._processes.pop(episode, None):
            process.end()

    async def shutdown(self) -> None:
        """End every process."""
        for episode in list(self._processes):
            await self.close(episode)
        self._starter.end()

"""A few episodes before a launch: does the environment play, and does it score one player above another?

Each training seed is played by the random player and, where the environment knows a good action, by the scripted one.
"""

import asyncio
import random
import time
from dataclasses import dataclass, field

from environments.episodes import Episodes, Turn
from environments.make import is_game
from environments.spec import EnvSpec
from environments.text_env import EpisodeError

PLAYERS = ("random", "scripted")
SEEDS = 8
TURNS = 20  # at most, of an environment that may be slow
TURNS_OF_A_GAME = 500
SECONDS = 60.0  # for all episodes
AT_ONCE = 4
NO_ACTIONS = ("", "I do not know.", "\N{SNOWMAN} 7")  # what a model may say too
SAME = 1e-9


@dataclass(frozen=True)
class Probe:
    """What was played.

    Attributes:
        returns: of each of ``PLAYERS`` those of its episodes.
        cut: episodes that were not played to their end: their returns are not all that they would have been.
        missing: episodes that the time did not suffice for.
        turns: at most so many were played of an episode.
        observations: the different ones of all turns that had a turn after them.
        step_seconds: of the quickest step, as the others waited for one another; None of a built-in game's.
    """

    returns: dict[str, list[float]] = field(default_factory=dict)
    cut: int = 0
    missing: int = 0
    turns: int = 0
    observations: tuple[str, ...] = ()
    step_seconds: float | None = None

    @property
    def played(self) -> list[float]:
        """The returns of all episodes."""
        return [value for values in self.returns.values() for value in values]

    @property
    def differs(self) -> bool:
        """Whether one episode returns more than another."""
        return max(self.played, default=0.0) - min(self.played, default=0.0) > SAME

    @property
    def has_equal_returns(self) -> bool:
        """Whether all were played to their end, and return the same."""
        return bool(self.played) and not (self.cut or self.missing or self.differs)

    def line(self) -> str:
        """Return the comparison in one line."""
        if not self.played:
            late = f"no episode ended within {SECONDS:g} s"
            return late if self.missing else "not compared: the environment names no actions (its attribute actions)"
        means = [f"{name} player {sum(values) / len(values):.2f}" for name, values in self.returns.items() if values]
        text = f"{', '.join(means)} ({len(self.played)} episodes)"
        if not self.differs and not self.has_equal_returns:
            text += f"; no return differs in the first {self.turns} turns, after which they were cut"
        return text + f"; {self.missing} more took longer than {SECONDS:g} s" * bool(self.missing)


def probe(spec: EnvSpec, seeds: range = range(SEEDS)) -> Probe:
    """Play the episodes of ``seeds``.

    Raises:
        EpisodeError: the environment cannot be made, breaks, hangs, or does not keep to its seed.
    """
    return asyncio.run(_probe(spec, seeds))


async def _probe(spec: EnvSpec, seeds: range) -> Probe:
    playing = _Playing(spec)
    episodes = [playing.play(player, seed) for seed in seeds for player in PLAYERS]
    tasks = [asyncio.ensure_future(episode) for episode in (playing.say_anything(seeds[0]), *episodes)]
    try:
        done, late = await asyncio.wait(tasks, timeout=SECONDS, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await playing.episodes.shutdown()
    quickest = None if is_game(spec.name) else min(playing.seconds, default=None)
    return Probe(playing.returns, playing.cut, len(late), playing.turns, tuple(playing.observations), quickest)


class _Playing:
    """The episodes under way, and what came of those that are over."""

    def __init__(self, spec: EnvSpec):
        self.turns = min(spec.max_turns, TURNS_OF_A_GAME if is_game(spec.name) else TURNS)
        self.episodes = Episodes(spec, workers=AT_ONCE)
        self.returns: dict[str, list[float]] = {player: [] for player in PLAYERS}
        self.cut = 0
        self.observations: dict[str, None] = {}  # in the order in which they were made
        self.seconds: list[float] = []  # of each step
        self._first: dict[int, str] = {}  # observation of each seed

    async def play(self, player: str, seed: int) -> None:
        name, chance, total = f"{player} {seed}", random.Random(seed), 0.0
        self._compare(seed, await self.episodes.reset(name, seed))
        for turn in range(self.turns):
            await asyncio.sleep(0)  # a game of the kit answers where it is asked: else nothing would be cut by SECONDS
            turns_left = self.episodes.spec.max_turns - turn if player == "scripted" else 0
            action = await self.episodes.suggest(name, turns_left, chance)
            if action is None:
                break
            start = time.perf_counter()
            answer = await self.episodes.step(name, action)
            self.seconds.append(time.perf_counter() - start)
            total += answer.reward
            if not answer.done:
                self.observations[answer.observation] = None
            if answer.done or turn + 1 == self.turns:
                self.returns[player].append(total)
                self.cut += not answer.done
                break
        await self.episodes.close(name)

    async def say_anything(self, seed: int) -> None:
        """Begin an episode twice in one environment, then give answers that are no actions."""
        name = "anything"
        self._compare(seed, await self.episodes.reset(name, seed))
        self._compare(seed, await self.episodes.reset_again(name, seed))
        for action_text in NO_ACTIONS:
            try:
                answer = await self.episodes.step(name, action_text)
            except EpisodeError as error:
                raise EpisodeError(f"{error}, at the answer {action_text!r}, which a model may give too") from None
            if answer.done:
                break
        await self.episodes.close(name)

    def _compare(self, seed: int, turn: Turn) -> None:
        if self._first.setdefault(seed, turn.observation) != turn.observation:
            raise EpisodeError(
                f"reset ignores its seed: of seed {seed} it gave two different observations; begin it with "
                "super().reset(seed=seed), and take chance from self.np_random alone"
            )

"""Players that need no model: one that plays at random, one that plays as well as can be, one who half knows."""

import random
from dataclasses import dataclass, field

from environments.games.game import Game, Table
from environments.make import make
from environments.optimum import LONGEST, SolvedGame
from environments.session import Session
from environments.spec import EnvSpec
from environments.text_env import TextEnv, attribute


def actions_of(env: TextEnv) -> tuple[str, ...]:
    """Return the actions that an environment names; none where it names none."""
    named = attribute(env, "actions")
    return tuple(map(str, named)) if isinstance(named, tuple | list) else ()


@dataclass
class ScriptedPlayer:
    """Plays a game by its table, or by its rule of thumb; ``mistaken`` by the table of who half knows it."""

    mistaken: bool = False
    _solutions: dict[int, tuple[Table, SolvedGame]] = field(default_factory=dict)

    def best_action(self, env: TextEnv, turns_left: int) -> str | None:
        """Return the action that this player takes now; None where it does not know the environment."""
        if isinstance(env, Game):
            number = self._number(env, turns_left)
            return None if number is None else env.actions[number]
        best_action = attribute(env, "best_action")
        return str(best_action(turns_left)) if callable(best_action) else None

    def _number(self, game: Game, turns_left: int) -> int | None:
        table = game.table()
        if table is None:
            return game.rule_of_thumb(self.mistaken)
        if id(table) not in self._solutions:
            believed = game.mistaken_table() if self.mistaken else table
            # the table is kept with its solution, or its id would be another one's
            self._solutions[id(table)] = (table, SolvedGame(believed or table, min(max(turns_left, 1), LONGEST)))
        return self._solutions[id(table)][1].action(game.state(), turns_left)


def play(spec: EnvSpec, seeds: range, player: ScriptedPlayer | None, chance: random.Random) -> list[float] | None:
    """Return the returns of the episodes of ``seeds``; a player of None plays at random.

    None where the environment names no actions, or has no good one to say.

    Raises:
        EpisodeError: the environment breaks.
        EnvironmentFault: it cannot be made.
    """
    env = make(spec)
    session, returns = Session(spec, env), []
    for seed in seeds:
        turn, total = session.reset(seed), 0.0
        for turns_left in range(spec.max_turns, 0, -1):
            action = player.best_action(env, turns_left) if player else at_random(env, chance)
            if action is None:
                return None
            turn = session.step(action)
            total += turn.reward
            if turn.done:
                break
        returns.append(total)
    return returns


def at_random(env: TextEnv, chance: random.Random) -> str | None:
    """Return one of the actions that an environment names; None where it names none."""
    named = actions_of(env)
    return chance.choice(named) if named else None

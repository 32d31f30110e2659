"""The best that a player can reach, exactly: backward induction over the chances of a game.

Source: Puterman, Markov Decision Processes (1994), 4.5: with h turns left,
``V_h(s) = max_a sum_s' P(s'|s, a) (r + V_{h-1}(s'))``, ``V_0 = 0``, and nothing after an end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from environments.games.cart_pole import CartPole
from environments.games.game import Game, Table

LONGEST = 1000  # turns that are looked ahead: a player who can take more plays as one who has so many


@dataclass
class SolvedGame:
    """A game's table, with the values and actions that are best with 0 to ``horizon`` turns left."""

    table: Table
    horizon: int

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {state: number for number, state in enumerate(self.table)}

    @cached_property
    def _solved(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Values (horizon + 1, states) and actions (horizon + 1, states)."""
        states, actions = len(self.table), 1 + max(action for acts in self.table.values() for action in acts)
        most = max(len(outcomes) for acts in self.table.values() for outcomes in acts.values())
        reward = np.zeros((actions, states))
        chances = np.zeros((actions, states, most))  # of going on, in each of the outcomes of an action in a state
        onward: np.ndarray[Any, Any] = np.zeros((actions, states, most), dtype=int)  # the state there
        for state, acts in self.table.items():
            row = self._index[state]
            for action, outcomes in acts.items():
                for number, (chance, after, gain, ends) in enumerate(outcomes):
                    reward[action, row] += chance * gain
                    if not ends:
                        chances[action, row, number] = chance
                        onward[action, row, number] = self._index[after]
        values = np.zeros((self.horizon + 1, states))
        best: np.ndarray[Any, Any] = np.zeros((self.horizon + 1, states), dtype=int)
        for turns_left in range(1, self.horizon + 1):
            expected = reward + (chances * values[turns_left - 1][onward]).sum(axis=-1)
            best[turns_left] = np.argmax(expected.round(12), axis=0)  # of equals, always the same
            values[turns_left] = expected.max(axis=0)
        return values, best

    def value(self, state: Any, turns_left: int) -> float:
        """Return the expected reward from ``state`` on, of a player that makes no mistake."""
        return float(self._solved[0][turns_left, self._index[state]])

    def action(self, state: Any, turns_left: int) -> int:
        """Return the number of the best action: of those that are equal in the end, the one that is there soonest."""
        values, best = self._solved
        reached = values[: min(turns_left, self.horizon) + 1, self._index[state]]
        soonest = int(np.argmax(reached >= reached[-1] - 1e-9))
        return int(best[soonest or len(reached) - 1, self._index[state]])


def best_return(game: Game, seeds: Sequence[int], horizon: int) -> float | None:
    """Return the mean over the episodes of ``seeds`` of the best expected return in at most ``horizon`` turns.

    None where it is not known. A seed says where an episode starts; what chance does after that is averaged over.
    """
    if isinstance(game, CartPole):
        return float(horizon)  # one a turn: no player can have more, and a steady hand has it all
    solutions: dict[int, SolvedGame] = {}
    values = []
    for seed in seeds:
        game.reset(seed=seed)
        table = game.table()
        if table is None:
            return None
        if id(table) not in solutions:
            solutions[id(table)] = SolvedGame(table, horizon)  # which keeps the table, and so its id
        values.append(solutions[id(table)].value(game.state(), horizon))
    return float(np.mean(values)) if values else None

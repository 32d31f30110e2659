"""Gymnasium's CliffWalking: along a cliff to the goal; each turn costs 1, a fall 100 and the way back."""

from collections.abc import Mapping
from typing import Any

from environments.games.game import Game, Table

ROWS, COLUMNS = 4, 12
FALL = -100  # the reward of a fall


class CliffWalking(Game):
    """A map of letters: P the player, C the cliff, G the goal, a dot for ground."""

    gymnasium_id = "CliffWalking-v1"
    action_words = (("up", "上"), ("right", "右"), ("down", "下"), ("left", "左"))
    step_cost = 1.0

    @classmethod
    def turns(cls, args: Mapping[str, Any]) -> int:
        """Return three times the shortest way."""
        return 39

    def rules_name(self) -> str:
        """Return the rules of firm or of slippery ground."""
        return "cliff_walking" + "_slippery" * bool(getattr(self.env.unwrapped, "is_slippery", False))

    def describe(self, observation: Any) -> str:
        """Return the map with the player on it."""
        cells = list("." * (ROWS - 1) * COLUMNS + "." + "C" * (COLUMNS - 2) + "G")
        cells[int(observation)] = "P"
        return "\n".join("".join(cells[row * COLUMNS : (row + 1) * COLUMNS]) for row in range(ROWS))

    def is_success(self, reward: float, terminated: bool) -> bool:
        """Whether the goal was reached."""
        return terminated

    def mistaken_table(self) -> Table:
        """Return the table of somebody who takes the cliff for a short cut."""
        table = self.table()
        assert table is not None
        short_cut = (-1.0, True)
        return {
            state: {
                action: [
                    (chance, after, *(short_cut if gain == FALL else (gain, ends)))
                    for chance, after, gain, ends in outs
                ]
                for action, outs in acts.items()
            }
            for state, acts in table.items()
        }

"""Gymnasium's FrozenLake: over the ice to the goal, and into no hole."""

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.envs.toy_text.frozen_lake import MAPS, generate_random_map

from environments.games.game import Game, Table

RANDOM = "random"
LARGEST = 32  # rows of a random map


class FrozenLake(Game):
    """A map of letters: P the player, F ice, H a hole, S the start, G the goal."""

    gymnasium_id = "FrozenLake-v1"
    action_words = (("left", "左"), ("down", "下"), ("right", "右"), ("up", "上"))

    def __init__(
        self,
        language: str = "en",
        map_name: str = "4x4",
        size: int = 4,
        is_slippery: bool | None = None,
        desc: list[str] | None = None,
        gymnasium_id: str = "",
        **args: Any,
    ):
        """Make the lake. By the kit's name ``is_slippery`` is off where it is not given, by Gymnasium's ID it is on.

        ``map_name`` is one of Gymnasium's (4x4, 8x8) or ``random``: then each seed has a map of its own, of ``size``
        rows and columns. ``desc`` is a map of one's own, as in Gymnasium.
        """
        if desc is None and map_name not in (*MAPS, RANDOM):
            raise ValueError(f"map_name is one of {', '.join((*MAPS, RANDOM))}")
        if not isinstance(size, int) or not 2 <= size <= LARGEST:
            raise ValueError(f"size is a whole number from 2 to {LARGEST}")
        if desc is not None and (fault := _map_fault(desc)):
            raise ValueError(f"desc {fault}")
        self.size = size if map_name == RANDOM and desc is None else 0
        self.is_slippery = bool(gymnasium_id) if is_slippery is None else bool(is_slippery)
        self.made_with = {"is_slippery": self.is_slippery, **args}
        desc = generate_random_map(size, seed=0) if self.size else desc
        super().__init__(language, gymnasium_id, desc=desc, map_name=map_name, **self.made_with)

    @classmethod
    def turns(cls, args: Mapping[str, Any]) -> int:
        """Return Gymnasium's limit on slippery ice (100 for 4 rows, 200 for 8); else as many as there are fields."""
        name, desc = str(args.get("map_name", "4x4")), args.get("desc")
        rows = len(desc) if isinstance(desc, list) else args.get("size") if name == RANDOM else len(MAPS.get(name, ()))
        rows = rows if isinstance(rows, int) and rows else 4
        return 25 * rows if args.get("is_slippery") else rows * rows

    def rules_name(self) -> str:
        """Return the rules of dry or of slippery ice."""
        return "frozen_lake_slippery" if self.is_slippery else "frozen_lake"

    def describe(self, observation: Any) -> str:
        """Return the map with the player on it."""
        rows = self._map()
        row, column = divmod(int(observation), len(rows[0]))
        rows[row] = f"{rows[row][:column]}P{rows[row][column + 1 :]}"
        return "\n".join(rows)

    def _map(self) -> list[str]:
        return ["".join(cell.decode() for cell in row) for row in self.env.unwrapped.desc]  # type: ignore[attr-defined]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode, on the map of its seed where maps are random."""
        if self.size:
            desc = generate_random_map(self.size, seed=seed)
            self.env = gymnasium.make(self.gymnasium_id, max_episode_steps=-1, desc=desc, **self.made_with)
        return super().reset(seed=seed, options=options)

    def mistaken_table(self) -> Table:
        """Return the table of somebody who sees no holes."""
        desc = [row.replace("H", "F") for row in self._map()]
        blind = gymnasium.make(self.gymnasium_id, desc=desc, **self.made_with)
        return blind.unwrapped.P  # type: ignore[attr-defined, no-any-return]


def _map_fault(desc: object) -> str:
    if not isinstance(desc, list) or not desc or not all(isinstance(row, str) and row for row in desc):
        return 'is a list of rows, each a text, such as ["SF", "FG"]'
    if len({len(row) for row in desc}) > 1:
        return "has rows of different lengths"
    if strange := sorted(set("".join(desc)) - set("SFHG")):
        return f"has {strange[0]!r}; its letters are S (start), F (ice), H (hole) and G (goal)"
    return "" if "S" in "".join(desc) else "has no S, where the player starts"

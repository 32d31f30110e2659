"""Gymnasium's Taxi: fetch the passenger and bring them to their destination; each turn costs 1."""

from collections.abc import Mapping
from typing import Any

from environments.games.game import Game, Table

STANDS = ("red", "green", "yellow", "blue", "taxi")
STANDS_ZH = ("红", "绿", "黄", "蓝", "车上")


class Taxi(Game):
    """Where the taxi is, where the passenger is and where to."""

    gymnasium_id = "Taxi-v4"
    action_words = (
        ("south", "南"),
        ("north", "北"),
        ("east", "东"),
        ("west", "西"),
        ("pickup", "接客"),
        ("dropoff", "下客"),
    )
    step_cost = 1.0

    @classmethod
    def turns(cls, args: Mapping[str, Any]) -> int:
        """Return about three times the mean of the shortest ways."""
        return 40

    def describe(self, observation: Any) -> str:
        """Return the three places."""
        row, column, passenger, destination = self.env.unwrapped.decode(int(observation))  # type: ignore[attr-defined]
        if self.language == "zh":
            return f"出租车：第{row}行第{column}列。乘客：{STANDS_ZH[passenger]}。目的地：{STANDS_ZH[destination]}。"
        return f"taxi: row {row}, column {column}; passenger: {STANDS[passenger]}; destination: {STANDS[destination]}"

    def mistaken_table(self) -> Table:
        """Return the table of somebody who believes that a passenger may get off anywhere."""
        table = self.table()
        assert table is not None
        arrived = [(1.0, 0, 20.0, True)]
        return {state: {**acts, 5: arrived} if _is_aboard(state) else acts for state, acts in table.items()}


def _is_aboard(state: int) -> bool:
    """Whether the passenger is in the taxi; a state's number is ((row * 5 + column) * 5 + passenger) * 4 + to."""
    return state // 4 % 5 == 4

"""Gymnasium's CartPole: push a cart so that the pole on it stays up; each turn is worth 1."""

import math
from collections.abc import Mapping
from typing import Any

from environments.games.game import Game


class CartPole(Game):
    """Four numbers: position and velocity of the cart, angle of the pole and how fast it tilts."""

    gymnasium_id = "CartPole-v1"
    action_words = (("left", "左"), ("right", "右"))

    @classmethod
    def turns(cls, args: Mapping[str, Any]) -> int:
        """Return a fifth of Gymnasium's limit, as each turn is a turn of a conversation."""
        return 100

    def describe(self, observation: Any) -> str:
        """Return the numbers, angles in degrees."""
        self._observation = [float(value) for value in observation]
        place, speed, angle, tilt = self._observation
        angle, tilt = math.degrees(angle), math.degrees(tilt)
        if self.language == "zh":
            return f"位置 {place:+.2f}，速度 {speed:+.2f}，角度 {angle:+.1f}，角速度 {tilt:+.0f}"
        return f"position {place:+.2f}, velocity {speed:+.2f}, angle {angle:+.1f}, tilting {tilt:+.0f}"

    def is_success(self, reward: float, terminated: bool) -> bool:
        """Whether the pole still stands."""
        return not terminated

    def state(self) -> Any:
        """Return the four numbers."""
        return tuple(self._observation)

    def rule_of_thumb(self, mistaken: bool) -> int:
        """Return the push towards where the pole is going to fall; mistaken: towards where it leans."""
        place, speed, angle, tilt = self._observation
        return int(angle > 0) if mistaken else int(0.05 * place + 0.1 * speed + angle + 0.3 * tilt > 0)

"""An adapter: one of Gymnasium's environments with numbered actions, its observations and actions as texts."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
from gymnasium import spaces

RULES = Path(__file__).parent / "rules"
MOST = 4096  # characters at the end of an answer in which an action is looked for
# state -> action -> (probability, next state, reward, whether the episode ends), as in Gymnasium's env.P
Table = Mapping[Any, Mapping[int, list[tuple[float, Any, float, bool]]]]
State = Any


class Game(gymnasium.Wrapper[str, str, Any, int]):
    """A game whose actions are words. The last one in an answer counts; an answer without one is no action.

    Attributes:
        gymnasium_id: the environment that is wrapped.
        action_words: of each action its word in English and in Chinese, in the order of the actions' numbers.
        step_cost: what a turn costs at least.
    """

    gymnasium_id: ClassVar[str]
    action_words: ClassVar[tuple[tuple[str, str], ...]]
    step_cost: float = 0.0

    def __init__(self, language: str = "en", gymnasium_id: str = "", **args: Any):
        """Make the game; ``args`` are those of Gymnasium's environment.

        Raises:
            Exception: whatever Gymnasium raises of arguments that it does not know.
        """
        # The limit of turns is the kit's, which tells a cut episode from an ended one.
        env = gymnasium.make(gymnasium_id or self.gymnasium_id, max_episode_steps=-1, **args)
        super().__init__(env)
        self.language = language
        self.observation_space = spaces.Text(MOST)
        self.action_space = spaces.Text(MOST)
        self._text = ""

    @classmethod
    def turns(cls, args: Mapping[str, Any]) -> int:
        """Return the limit of turns, where none is given."""
        raise NotImplementedError

    @property
    def actions(self) -> tuple[str, ...]:
        """The words of the actions in the game's language."""
        return tuple(pair[self.language == "zh"] for pair in self.action_words)

    @property
    def rules(self) -> str:
        """What the model is told before the first observation."""
        return (RULES / f"{self.rules_name()}.{self.language}.txt").read_text(encoding="utf-8").strip()

    def rules_name(self) -> str:
        """Return the name of the file of rules, without its language."""
        return type(self).__module__.rpartition(".")[2]

    def describe(self, observation: Any) -> str:
        """Return what the player sees."""
        raise NotImplementedError

    def is_success(self, reward: float, terminated: bool) -> bool:
        """Whether a turn with this reward reached the game's goal."""
        return terminated and reward > 0

    def table(self) -> Table | None:
        """Return the chances of every action in every state; None where the states are not finite in number."""
        return getattr(self.env.unwrapped, "P", None)

    def state(self) -> State:
        """Return the present state, a key of ``table``."""
        return self.env.unwrapped.s  # type: ignore[attr-defined]

    def mistaken_table(self) -> Table | None:
        """Return the table as somebody believes it who half knows the game: the teacher of ``builtin:tiny``."""
        return None

    def rule_of_thumb(self, mistaken: bool) -> int | None:
        """Return a good action's number where there is no table, or that of somebody who half knows the game."""
        return None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode."""
        observation, _ = self.env.reset(seed=seed, options=options)
        self._text = self.describe(observation)
        return self._text, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the action that a text names; where it names none, show what was seen before again."""
        number = parse(action, self.action_words)
        if number is None:
            return self._again(), -self.step_cost, False, False, {"invalid": True, "success": False}
        observation, reward, terminated, truncated, _ = self.env.step(number)  # type: ignore[arg-type]  # Gymnasium types it as the wrapper's
        self._text = self.describe(observation)
        success = self.is_success(float(reward), terminated)
        return self._text, float(reward), bool(terminated), bool(truncated), {"success": success}

    def _again(self) -> str:
        if self.language == "zh":
            return f"请用以下词语之一作答：{'、'.join(self.actions)}。\n{self._text}"
        return f"Answer with one of: {', '.join(self.actions)}.\n{self._text}"


def parse(text: str, action_words: tuple[tuple[str, str], ...]) -> int | None:
    """Return the number of the action whose word, of either language, comes last in ``text``; None where none does."""
    numbers = {word: number for number, pair in enumerate(action_words) for word in pair}
    named = _pattern(action_words).findall(text[-MOST:].lower())
    return numbers[named[-1]] if named else None


@cache
def _pattern(action_words: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    english = "|".join(re.escape(pair[0]) for pair in action_words)
    chinese = "|".join(re.escape(pair[1]) for pair in action_words)
    return re.compile(rf"(?<![a-z])(?:{english})(?![a-z])|{chinese}")

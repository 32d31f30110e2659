"""Held-out conversations in numbers: how long they are, and what they have returned after each turn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MODEL = "assistant"
Row = Mapping[str, Any]  # of a file of rollouts; ``turns`` are its messages
Curve = list[tuple[int, float]]  # turn and value


@dataclass(frozen=True)
class Message:
    """What was said in a conversation; the ``reward`` of a turn, None where there is none."""

    role: str
    text: str
    reward: float | None = None


@dataclass(frozen=True)
class EpisodeStatistics:
    """The conversations of one validation."""

    step: int
    lengths: Curve  # turns of the model, and the share of conversations that have so many
    returns: Curve  # turn, and the mean of what episodes have earned until then; empty where turns earn nothing


def messages(row: Row) -> list[Message]:
    """Return what was said in a conversation; nothing where the row is none, or is damaged."""
    turns = row.get("turns")
    valid_turns = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    return [Message(str(turn.get("role", "")), _text(turn), _number(turn.get("reward"))) for turn in valid_turns]


def of_rows(step: int, rows: Sequence[Row]) -> EpisodeStatistics | None:
    """Return the conversations among ``rows`` in numbers; None where there are none."""
    conversations = [[message for message in messages(row) if message.role == MODEL] for row in rows]
    conversations = [turns for turns in conversations if turns]
    if not conversations:
        return None
    counts = Counter(map(len, conversations))
    lengths = [(turns, counts[turns] / len(conversations)) for turns in range(1, max(counts) + 1)]
    earned = [[turn.reward for turn in turns] for turns in conversations]
    return EpisodeStatistics(step, lengths, [] if any(None in turns for turns in earned) else _returns(earned))


def _returns(earned: Sequence[Sequence[Any]]) -> Curve:
    """An episode that is over earns no more."""
    last = max(map(len, earned))
    sums = [[sum(turns[:count]) for turns in earned] for count in range(1, last + 1)]
    return [(count, sum(rewards) / len(rewards)) for count, rewards in enumerate(sums, 1)]


def _text(turn: Row) -> str:
    calls = [f"{call.get('name')}({call.get('arguments')})" for call in _dicts(turn.get("tool_calls"))]
    return "\n".join(filter(None, [str(turn.get("content") or ""), *calls]))


def _dicts(value: Any) -> list[Row]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None

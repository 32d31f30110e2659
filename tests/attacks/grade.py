"""The rule ``code`` on a program."""

from typing import Any

from reward.entry import compute_score


def grade(code: str, tests: Any, extra: dict[str, Any]) -> dict[str, float]:
    """Return what an answer in a fence gets."""
    return compute_score("code", f"```python\n{code}\n```", tests, extra)

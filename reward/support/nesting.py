"""How deep a row of data is nested: Python, JSON and Arrow each give up at another depth, with errors of their own."""

from typing import Any

DEEPEST = 100  # lists and objects in one another
MESSAGE = f"lists and objects are nested more than {DEEPEST} deep; flatten it, or write it as one text"
OF_TEXT = f"as JSON its lists and objects are nested more than {DEEPEST} deep; flatten it"  # where it is one text


def is_too_deep(node: Any) -> bool:
    """Whether lists and objects are in one another more than ``DEEPEST`` times."""
    level = [node] if isinstance(node, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return False
        children = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in children if isinstance(child, dict | list)]
    return bool(level)


DEEP: list[Any] = []  # stands for what Python's JSON would not read
for _ in range(DEEPEST + 1):
    DEEP = [DEEP]

"""The tables of programs of this folder's files, and the rule ``code`` on one of them."""

import importlib
import pkgutil
from typing import Any

import tests.attacks
from reward.entry import compute_score

FILES = ("programs", "honest")  # what the names of files with programs begin with


def table(name: str) -> dict[str, Any]:
    """Return the rows of all tables of that name; no two rows have one name."""
    rows: dict[str, Any] = {}
    for file in pkgutil.iter_modules(tests.attacks.__path__):
        if file.name.startswith(FILES):
            more = getattr(importlib.import_module(f"tests.attacks.{file.name}"), name, {})
            assert not rows.keys() & more.keys(), (file.name, rows.keys() & more.keys())
            rows |= more
    return rows


def grade(code: str, tests: Any, extra: dict[str, Any]) -> dict[str, float]:
    """Return what an answer in a fence gets."""
    return compute_score("code", f"```python\n{code}\n```", tests, extra)

"""Code that returned nothing but what is empty, and checks that let that pass without asking for it.

``set(f(3)) <= {1, 2}``, ``r == sorted(r)`` and ``max(map(len, r), default=0) < 9`` hold for an empty list, also beside
``f(0) == []``, where something empty is due. Code that has shown nothing else may be right; no test says so.
"""

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reward.rules.decoys import arguments
from reward.sandbox.source import Tests, forbids, function
from reward.support.errors import GraderFailed

if TYPE_CHECKING:
    from reward.sandbox.run import TestResult

MARK = "OnlyEmpty"  # in the reason of a pass (``tests_process/harness.py``)
OF_CLASSES = {"isinstance", "callable", "hasattr", "assertIsInstance"}
OF_NOTHING = {"assertFalse", "assertIsNone"}
EMPTY_CALLS = ("list", "set", "dict", "tuple", "str", "frozenset", "bytes")
TOTALS = {"any", "sum"}  # ``not any(x < 0 for x in f(3))``


def verdict(passed: "TestResult", job: dict[str, Any]) -> "TestResult":
    """Return the verdict about code that has passed, and returned only what is empty.

    Raises:
        GraderFailed: a check lets that pass without asking for it.
    """
    row = (job["tests"], job["setup"], job["helpers"], job["entry_point"] or "")
    if arguments.MARK in passed.reason and arguments.looks_at_arguments(*row):
        return passed
    if check := weak_check(job["tests"]):
        raise GraderFailed(f"all that the code returned is empty, which {check[:80]!r} lets pass")
    return passed


@lru_cache(maxsize=512)
def weak_check(tests: str) -> str:
    """Return a check of tests that asks for nothing empty; empty where there is none."""
    row = Tests(tests)
    checks = [node.test for node in row.nodes if isinstance(node, ast.Assert) and not forbids(node)]
    calls = [node for node in row.nodes if isinstance(node, ast.Call) and function(node).startswith("assert")]
    checks += [call for call in calls if "aises" not in function(call)]
    return next((ast.unparse(check) for check in checks if not _asks_for_nothing(check)), "")


def _asks_for_nothing(check: ast.expr) -> bool:
    """Whether a check says that something is empty or false, or of what class it is."""
    if isinstance(check, ast.BoolOp):
        return all(map(_asks_for_nothing, check.values))
    if isinstance(check, ast.UnaryOp) and isinstance(check.op, ast.Not):
        return isinstance(check.operand, ast.Name) or (
            isinstance(check.operand, ast.Call) and function(check.operand) not in TOTALS
        )
    if isinstance(check, ast.Compare):
        is_equality = isinstance(check.ops[0], (ast.Eq, ast.Is, ast.In))
        return is_equality and any(map(_is_nothing, (check.left, *check.comparators)))
    if isinstance(check, ast.Call):
        return function(check) in OF_CLASSES | OF_NOTHING or any(map(_is_nothing, check.args))
    return False


def _is_nothing(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return function(node) in EMPTY_CALLS and not node.args
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(map(_is_nothing, node.elts))
    return not node.keys if isinstance(node, ast.Dict) else isinstance(node, ast.Constant) and not node.value

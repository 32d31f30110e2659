"""Code that returns a NaN or an infinity, which many a comparison of tests lets pass: ``not operator.gt(nan, 1e-6)``.

A pass in which such a value came from the code is run again with large numbers in its place. Where the tests fail then,
it was the value that passed them, and not what it is; unless they speak of such values themselves.
"""

import ast
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reward.sandbox.copies.not_finite import SPELT
from reward.sandbox.source import Tests, function
from reward.support.errors import GraderFailed

if TYPE_CHECKING:
    from reward.sandbox.run import TestResult

EQUAL_NAN = "equal_nan"  # lets a NaN equal a NaN, and does not say that one is due
MARK = "NotFinite"  # in the reason of a pass (``tests_process/harness.py``)
NAMES = "nan|inf|infinity|infty|isnan|isinf|isfinite|isneginf|isposinf|ninf|pinf"
WORD = re.compile(rf"(?:^|[^a-z])(?:{NAMES})(?:[^a-z]|$)")
LOOSE = {"assert_array_less", "assert_"}  # of numpy.testing; its others take a NaN for a NaN alone


def verdict(passed: "TestResult", job: dict[str, Any]) -> "TestResult":
    """Return the verdict about code that has passed, and returned what is not finite.

    Raises:
        GraderFailed: only ``equal_nan=True`` lets a NaN pass, and no NaN is due.
    """
    from reward.sandbox.run import run_tests

    if mentions_not_finite(job["tests"], job["setup"], job["helpers"]):
        return passed
    try:
        again = run_tests({**job, "finite": True})
    except GraderFailed as error:
        again = replace(passed, passed=False, reason=str(error))
    if not again.passed and f"{EQUAL_NAN}=True" in job["tests"].replace(" ", ""):
        raise GraderFailed(f"a NaN passes by {EQUAL_NAN}=True, and the tests have none for it to be equal to")
    return again


@lru_cache(maxsize=512)
def mentions_not_finite(tests: str, setup: str, helpers: str) -> bool:
    """Whether tests say that a NaN or an infinity may be due: by name, by a number, by ``x != x``."""
    row = Tests(tests, setup, helpers)
    trees = (row.tree, ast.parse(setup), ast.parse(helpers))
    return any(_is_word(node) for tree in trees for node in ast.walk(tree))


def _is_word(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        value = node.value
        is_large = isinstance(value, (float, complex)) and value - value != 0
        return is_large or (isinstance(value, str) and any(word.search(value.lower()) for word in (WORD, SPELT)))
    if isinstance(node, ast.Compare):
        return ast.dump(node.left) in map(ast.dump, node.comparators)
    if isinstance(node, ast.Call) and function(node).startswith("assert_") and function(node) not in LOOSE:
        return True
    if isinstance(node, ast.keyword) and node.arg == EQUAL_NAN:
        return False
    name = getattr(node, "attr", getattr(node, "id", getattr(node, "arg", getattr(node, "name", None))))
    return isinstance(name, str) and WORD.search(name.lower()) is not None

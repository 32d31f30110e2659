"""Code all of whose calls end in an error, and tests that check a result only where there is one.

``if not isinstance(r, Exception): assert r == 2`` checks nothing of errors that a future, a handler or
``gather(..., return_exceptions=True)`` has kept. Where tests never say that an error is due, such a pass says nothing.
"""

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reward.sandbox.source import Tests, forbids, function, is_check
from reward.support.errors import GraderFailed

if TYPE_CHECKING:
    from reward.sandbox.run import TestResult

MARK = "OnlyErrors"  # in the reason of a pass (``tests_process/harness.py``)
REFUSED = "every call of the code's ends in an error, and the tests check results alone, where there are any"


def verdict(passed: "TestResult", job: dict[str, Any]) -> "TestResult":
    """Return the verdict about code that has passed, and of which every call has ended in an error.

    Raises:
        GraderFailed: no check looks at errors.
    """
    if not looks_at_errors(job["tests"], job["setup"], job["helpers"]):
        raise GraderFailed(REFUSED)
    return passed


@lru_cache(maxsize=512)
def looks_at_errors(tests: str, setup: str = "", helpers: str = "") -> bool:
    """Whether a check may be reached after an error: one beside an ``if``, ``raises``, ``raise``, ``assert False``."""
    nodes = [*ast.walk(ast.parse(tests)), *Tests(tests, setup, helpers).nodes]
    chosen = {id(inner) for node in nodes if isinstance(node, ast.If) for inner in ast.walk(node)}
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and ("aises" in function(node) or function(node) in ("exit", "fail")))
        or (isinstance(node, ast.stmt) and is_check(node) and (forbids(node) or id(node) not in chosen))
        for node in nodes
    )

"""Tests that ask no more than whether results are true: ``assert add(1, 2)`` lets any text and number pass.

Such a check decides something of a function that says yes or no. A pass in which one of them got something else is
none, where a program passes too that returns an object of no use, which is true, whatever it is asked.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reward.rules.decoys import results
from reward.sandbox import instrument
from reward.sandbox.source import Tests
from reward.support.errors import GraderFailed

if TYPE_CHECKING:
    from reward.sandbox.run import TestResult

MARK = "NotBool"  # in the reason of a pass (``tests_process/harness.py``)
REFUSED = "the tests only ask whether results are true, and they are no bools: whatever is returned passes"


def verdict(passed: "TestResult", job: dict[str, Any]) -> "TestResult":
    """Return the verdict about code that has passed, and of which a check got what is true and no bool.

    Raises:
        GraderFailed: the tests ask for nothing else.
    """
    if _accept_anything(job["tests"], job["setup"], job["helpers"], job["entry_point"] or ""):
        raise GraderFailed(REFUSED)
    return passed


@lru_cache(maxsize=512)
def _accept_anything(tests: str, setup: str, helpers: str, entry: str) -> bool:
    from reward.sandbox.run import run_tests

    row = Tests(tests, setup, helpers, entry)
    job = {"tests": tests, "setup": setup, "helpers": helpers, "entry_point": entry, "plan": instrument.plan(row)}
    try:
        return run_tests({"code": results.decoys(row)[0], **job}).passed
    except GraderFailed:
        return False

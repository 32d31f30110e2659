"""Code that has returned fewer items than tests hold against them, by ``zip`` or by an index.

Such a pass is run again with lists that lack one more item. Where the tests fail then, they look at how many there are;
where they pass, nothing tells the first items of what is due from all of it.
"""

from typing import TYPE_CHECKING, Any

from reward.support.errors import GraderFailed

if TYPE_CHECKING:
    from reward.sandbox.run import TestResult

MARK = "Fewer"  # in the reason of a pass (``tests_process/harness.py``)
REFUSED = "the code has returned fewer items than the tests hold against them, and they do not ask how many there are"


def verdict(passed: "TestResult", job: dict[str, Any]) -> "TestResult":
    """Return the verdict about code that has passed, and returned fewer items than were due.

    Raises:
        GraderFailed: any number of them passes.
    """
    from reward.sandbox.run import run_tests

    try:
        is_any_number = run_tests({**job, "shortened": True}).passed
    except GraderFailed:
        return passed
    if is_any_number:
        raise GraderFailed(REFUSED)
    return passed

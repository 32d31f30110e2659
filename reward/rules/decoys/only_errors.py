"""Code all of whose calls end in an error, and tests that check a result only where there is one.

``if not isinstance(r, Exception): assert r == 2`` checks nothing of errors that a future, a handler or
``gather(..., return_exceptions=True)`` has kept. Where tests never say that an error is due, such a pass says nothing.
"""

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reward.sandbox.free_names import BUILTINS
from reward.sandbox.source import Tests, forbids, function, is_check
from reward.support.errors import GraderFailed

if TYPE_CHECKING:
    from reward.sandbox.run import TestResult

MARK = "OnlyErrors"  # in the reason of a pass (``tests_process/harness.py``)
SPREADS = {"submit", "create_task", "ensure_future", "apply_async", "run_in_executor", "gather", "wait"}
COUNTS = {"len", "done", "all", "set", "list"}  # what says of futures how many they are, or that they have ended
LOOKS = {"callable", "hasattr", "isinstance", "issubclass", "type", "id"}  # at a function as such
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
    row = Tests(tests, setup, helpers)
    nodes = [*ast.walk(ast.parse(tests)), *row.nodes]
    functions = ({*row.asked} - LOOKS) & {
        name for node in nodes if isinstance(node, ast.Call) for name in _functions_of(node)
    }
    futures = _futures(nodes)
    chosen = {id(inner) for node in nodes if isinstance(node, ast.If) for inner in ast.walk(node)}
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and ("aises" in function(node) or function(node) in ("exit", "fail")))
        or (
            isinstance(node, ast.stmt)
            and is_check(node)
            and (
                forbids(node)
                or not (id(node) in chosen or _is_of_functions(node, functions) or _is_of_number(node, futures))
            )
        )
        for node in nodes
    )


def _futures(nodes: Collection[ast.AST]) -> set[str]:
    """Return the variables of tests that hold all of their futures, and none that are chosen by an ``if``."""
    names: set[str] = set()
    for node in [node for node in nodes if isinstance(node, ast.Assign)] * 2:  # they may be in any order
        inside = [*ast.walk(node.value)]
        called = {function(inner) for inner in inside if isinstance(inner, ast.Call)}
        read = {inner.id for inner in inside if isinstance(inner, ast.Name)}
        is_chosen = any(isinstance(inner, ast.comprehension) and inner.ifs for inner in inside)
        if not is_chosen and (called & SPREADS or (read & names and called <= COUNTS)):
            names |= {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return names


def _is_of_number(check: ast.stmt, futures: Collection[str]) -> bool:
    """Whether a check looks at no result, but at how many futures there are: ``assert len(futures) == 3``."""
    if not isinstance(check, ast.Assert):
        return False
    nodes = [*ast.walk(check.test)]
    called = {function(node) for node in nodes if isinstance(node, ast.Call)}
    bound = {
        part.id
        for node in nodes
        if isinstance(node, ast.comprehension)
        for part in ast.walk(node.target)
        if isinstance(part, ast.Name)
    }
    read = {node.id for node in nodes if isinstance(node, ast.Name)} - bound - BUILTINS
    is_chosen = any(isinstance(node, ast.comprehension) and node.ifs for node in nodes)
    others = (ast.Subscript, ast.List, ast.Tuple, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    is_of_them = bool(read) and read <= {*futures} and called <= COUNTS
    return is_of_them and not is_chosen and not any(isinstance(node, others) for node in nodes)


def _functions_of(call: ast.Call) -> Iterator[str]:
    """Yield what a call calls, or hands on to be called: ``pool.submit(f, 1)``."""
    name = function(call)
    yield name
    if name not in BUILTINS:
        handed = [*call.args, *(keyword.value for keyword in call.keywords)]
        yield from (part.id for part in handed if isinstance(part, ast.Name))


def _is_of_functions(check: ast.stmt, functions: Collection[str]) -> bool:
    """Whether a check looks at no result, but at the code's functions as such: ``assert callable(f)``."""
    call = check.value if isinstance(check, ast.Expr) and isinstance(check.value, ast.Call) else None
    nodes = [node for part in (call.args if call else [check]) for node in ast.walk(part)]
    read = {node.id for node in nodes if isinstance(node, ast.Name)} - (BUILTINS - {*functions})
    called = {function(node) for node in nodes if isinstance(node, ast.Call)}
    of_them = (node.value for node in nodes if isinstance(node, ast.Attribute))
    return read <= {*functions} and not (called & read or any(getattr(value, "id", "") in read for value in of_them))

"""Errors in the tests' own words: ``f(cases[3])`` of three cases fails whatever the code is, and says nothing of it."""

import ast
from collections.abc import Iterator
from types import TracebackType

from reward.sandbox.source import Function, walk
from reward.sandbox.tests_process.errors import FILES, CodeError, Unsupported
from reward.sandbox.tests_process.guards.indexed import looked_over, without
from reward.sandbox.tests_process.own_errors.dependence import Dependence


def is_own(error: BaseException, tests: str, names: set[str]) -> bool:
    """Whether an error came of an expression of the tests' on which the code has no influence.

    Args:
        error: that ended the tests, not raised by the code.
        tests: source as it was run.
        names: that are the code's, or stand for it.
    """
    is_verdict = isinstance(error, (AssertionError, CodeError, Unsupported))
    if not isinstance(error, Exception) or is_verdict or isinstance(error, MemoryError):  # what it returned may fill it
        return False
    tree = ast.parse(tests)
    places = [_node(tree, *span) for span in _spans(error.__traceback__)]
    if not places or None in places or isinstance(places[-1], ast.Raise):  # which is a verdict
        return False
    places = [looked_over(place) for place in places if place]
    dependence = Dependence(without(tree), names)
    depends = dependence.fails_in(places[-1]) and not _is_misfit(error, places[-1], tree)  # type: ignore[arg-type]
    return not depends and not any(map(dependence.decides, places))  # type: ignore[arg-type]


def _is_misfit(error: Exception, node: ast.AST | None, tree: ast.Module) -> bool:
    """Whether a function of the tests' is called with too many arguments for it, or too few."""
    if not isinstance(error, TypeError) or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return False
    binders = [inner for inner in walk(tree) if node.func.id in (getattr(inner, "name", ""), getattr(inner, "id", ""))]
    binders = [inner for inner in binders if not isinstance(getattr(inner, "ctx", None), ast.Load)]
    if len(binders) != 1 or not isinstance(binders[0], Function) or binders[0].decorator_list:
        return False
    wanted = binders[0].args
    positional = len(wanted.posonlyargs) + len(wanted.args)
    is_too_few = len(node.args) < positional - len(wanted.defaults)
    return is_too_few or (len(node.args) > positional and wanted.vararg is None)


def is_raised(error: BaseException, tests: str) -> bool:
    """Whether a statement of the tests' raised an error by itself."""
    tree = ast.parse(tests)
    places = [_node(tree, *span) for span in _spans(error.__traceback__)]
    return bool(places) and isinstance(places[-1], ast.Raise) and places[-1].exc is not None


def _spans(trace: TracebackType | None) -> Iterator[tuple[int | None, int | None, int | None, int | None]]:
    """Yield where in the tests' source each of their frames was; nothing before Python 3.11, which tells lines."""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILES[1] and hasattr(code, "co_positions"):
            yield [*code.co_positions()][trace.tb_lasti // 2]
        trace = trace.tb_next


def _node(tree: ast.AST, line: int | None, end: int | None, column: int | None, last: int | None) -> ast.AST | None:
    """Return the smallest expression of a span; of a target, what is bound to it."""
    spans = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.expr, ast.stmt))
        and (node.lineno, node.col_offset) <= (line or 0, column or 0)
        and (node.end_lineno or 0, node.end_col_offset or 0) >= (end or 0, last or 0)
    ]
    if None in (line, end, column, last) or not spans:
        return None
    if texts := [node for node in spans if isinstance(node, ast.JoinedStr)]:  # whose parts have its span, to 3.11
        return texts[0]
    is_target = isinstance(getattr(spans[-1], "ctx", None), (ast.Store, ast.Del))
    if not is_target:
        return spans[-1]
    statement = [node for node in spans if isinstance(node, ast.stmt)][-1]
    if isinstance(spans[-1], (ast.Subscript, ast.Attribute)):  # xs[f(1)] = 5 fails by its key
        return statement
    value = getattr(statement, "iter", None) or getattr(statement, "value", None)
    return value if isinstance(value, ast.expr) else statement

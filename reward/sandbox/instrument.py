"""Tests that tell which of their checks have run: they are instrumented before they run."""

import ast
import copy
from typing import Any

from reward.sandbox import reach, vacuous
from reward.sandbox.copies.record_classes import is_record, portable
from reward.sandbox.source import (
    COMPOUND,
    Function,
    Tests,
    forbids,
    function,
    is_check,
    may_raise,
    walk,
    yields,
)
from reward.sandbox.tests_process.guards import indexed, own_names

CHECKED = "__checked__"  # what tests call, once they are instrumented, when a check has run
ENTERED = "__entered__"  # when a function has begun, or a generator come to a check, with its name
OVER_ITEMS = "__over_items__"  # in the place of ``TOTALS``, where a check is nothing else
TOTALS = ("all", "any", "sum", "fsum")
FAILED = "__failed__"  # when a check has failed, with what it was
CHECK, BRANCH, FORBIDDEN = "check", "branch", "forbidden"  # a branch may raise something itself
HANDLED = "__handled__"  # where they make something of an exception
LOOPED = "__looped__"  # before a loop that checks something, and in it, with its number
SWALLOWED = "__swallowed__"  # where they make nothing of it
TRUTH = "__truth__"  # around what a check only asks the truth of
ORDERED = "__ordered__"  # instead of a comparison by order, with the number of its operator in ``ORDERS``
LOOPS = (ast.For, ast.AsyncFor, ast.While)
ORDERS: tuple[type[ast.cmpop], ...] = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
TOLERANCES = {"abs_tol", "rel_tol", "rtol", "atol", "rel", "abs", "delta", "places", "decimal"}
# Of ``Tests``, in a plan.
SETS = ("mentioned", "asked", "of_solution", "classes", "fallbacks", "called_at_top", "modules")


def instrumented(tree: ast.Module) -> ast.Module:
    """Return tests that call ``CHECKED`` after each check that can fail, where it is reached only if the check is good.

    They call ``FAILED`` where one fails: an exception may be lost on its way, in a task, a thread or ``suppress``; and
    ``ENTERED`` in functions that are to be run (``reach.due``).
    """
    due, swallowing = reach.due(tree), vacuous.swallowing(tree)
    tree.body = _instrument(tree.body, False, swallowing)
    for waited in due:
        _say_entered(waited)
    return ordered(indexed.beside(tree))


def ordered(tree: ast.Module) -> ast.Module:
    """Return statements in which ``ORDERED`` compares by order: with a NaN, ``abs(f(1) - 2) > 1e-6`` is never true."""
    _Ordering().visit(tree)
    return ast.fix_missing_locations(tree)


class _Ordering(ast.NodeTransformer):
    def __init__(self) -> None:
        self._is_verdict = False  # within an assert, or what a function returns

    def visit(self, node: ast.AST) -> ast.AST:
        was = self._is_verdict
        if isinstance(node, ast.stmt):
            self._is_verdict = isinstance(node, (ast.Assert, ast.Return, ast.Expr))
        made: ast.AST = super().visit(node)
        self._is_verdict = was
        return made

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in ORDERS:
            return node
        sides = node.left, node.comparators[0]
        limit = _limit(*sides) if self._is_verdict else -1
        order, *lax = map(ast.Constant, (ORDERS.index(type(node.ops[0])), _tolerance(*sides), limit))
        return ast.Call(ast.Name(ORDERED, ast.Load()), [order, *sides, *lax], [])


def _tolerance(left: ast.expr, right: ast.expr) -> int:
    """Return which side, 0 or 1, of ``abs(f(1) - 2) <= 1e-6 * abs(f(1))`` is a relative tolerance; -1 for neither."""
    both = enumerate(((right, left), (left, right)))
    return next((side for side, (difference, limit) in both if _has(difference, ast.Sub) and _has(limit, ast.Mult)), -1)


def _limit(left: ast.expr, right: ast.expr) -> int:
    """Return which side, 0 or 1, of ``abs(f(1) - 2) <= 1e-6`` says how large a difference may be; -1 for neither."""
    both = enumerate(((right, left), (left, right)))
    return next((side for side, (distance, limit) in both if _is_distance(distance) and not _is_distance(limit)), -1)


def tolerance_names(tree: ast.Module) -> set[str]:
    """Return the names that tests read only to say how large a difference may be: ``abs(f(1) - 2) < tol``."""
    limits: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in ORDERS:
            sides = node.left, node.comparators[0]
            limits += [sides[side] for side in [_limit(*sides)] if side >= 0]
        elif isinstance(node, ast.Call):
            limits += [keyword.value for keyword in node.keywords if keyword.arg in TOLERANCES]
    inside = {id(node) for limit in limits for node in ast.walk(limit)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {node.id for node in names if id(node) in inside} - {node.id for node in names if id(node) not in inside}


def _is_distance(part: ast.expr) -> bool:
    calls = [node for node in ast.walk(part) if isinstance(node, ast.Call)]
    return _has(part, ast.Sub) and any(function(call) in ("abs", "fabs", "absolute") for call in calls)


def _has(part: ast.AST, operator: type[ast.operator]) -> bool:
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, operator) for node in ast.walk(part))


def has_checks(tree: ast.Module) -> bool:
    """Whether there is a check that can fail."""
    return CHECKED in ast.unparse(instrumented(copy.deepcopy(tree)))


def _say_entered(function: reach.AnyFunction) -> None:
    call = _call(ENTERED, function.name)
    if not yields(function):
        function.body.insert(0, call)
        return
    function.body.append(call)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == CHECKED:
            node.args.append(ast.Constant(function.name))


def _instrument(statements: list[ast.stmt], chosen: bool, swallowing: set[int]) -> list[ast.stmt]:
    """Instrument statements.

    Args:
        statements: of one body.
        chosen: whether getting there, into a branch or a handler, may be what is tested.
        swallowing: ``vacuous.swallowing`` of all tests.
    """
    result: list[ast.stmt] = []
    for statement in statements:
        handlers = statement.handlers if isinstance(statement, ast.Try) else []
        calls = [SWALLOWED if id(handler) in swallowing else HANDLED for handler in handlers]
        inside = isinstance(statement, COMPOUND) or (chosen and not isinstance(statement, Function))
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if inner:
                setattr(statement, field, _instrument(inner, inside, swallowing))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            part.body = _instrument(part.body, inside, swallowing)
        for handler, name in zip(handlers, calls, strict=True):
            handler.body.insert(0, _call(name))
        result += [*_say_looped(statement), *_noted(statement, chosen)]
    return result


def _say_looped(statement: ast.stmt) -> list[ast.stmt]:
    """Return what comes before a loop with checks, and have it say so when it goes round."""
    if not isinstance(statement, LOOPS) or not any(is_check(node) and not forbids(node) for node in walk(statement)):
        return []
    name = f"{statement.lineno}:{statement.col_offset}"
    statement.body.insert(0, _call(LOOPED, name, "round"))
    return [_call(LOOPED, name)]


def _noted(statement: ast.stmt, chosen: bool) -> list[ast.stmt]:
    """Return a statement with the calls that say what came of it, where it is a check."""
    if is_check(statement):
        if vacuous.cannot_fail(statement) and not chosen:
            return [statement]
        _count_items(statement)
        _say_truth(statement)
        wanted = [_call(HANDLED)] * vacuous.wants_failure(statement)
        return [_guarded(statement, FORBIDDEN if forbids(statement) else CHECK), _call(CHECKED), *wanted]
    return [_call(CHECKED), _guarded(statement, BRANCH)] if may_raise(statement) else [statement]


def _count_items(statement: ast.stmt) -> None:
    """Have a check that is ``all(...)``, ``not any(...)`` or ``sum(...) < 1`` tell where there are no items."""
    check: ast.AST | None = statement.test if isinstance(statement, ast.Assert) else None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        is_truth = getattr(statement.value.func, "attr", "") in ("assertTrue", "assertFalse")
        check = statement.value.args[0] if is_truth and statement.value.args else None
    while isinstance(check, ast.UnaryOp):
        check = check.operand
    if isinstance(check, ast.Compare):  # sum(abs(a - b) for a, b in zip(f(1), [1, 2])) < 1e-6
        check = check.left
        totals = isinstance(check, ast.Call) and any(
            isinstance(argument, ast.GeneratorExp) for argument in check.args[:1]
        )
        check = check if totals else None
    if isinstance(check, ast.Call) and getattr(check.func, "attr", getattr(check.func, "id", "")) in TOTALS:
        check.args.insert(0, check.func)
        check.func = ast.Name(OVER_ITEMS, ast.Load())


def _say_truth(statement: ast.stmt) -> None:
    """Have a check that asks no more than whether a value is true tell what it is: any text passes ``assert f(1)``."""
    if isinstance(statement, ast.Assert):
        statement.test = _told(statement.test)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        arguments = statement.value.args
        if getattr(statement.value.func, "attr", "") == "assertTrue" and arguments:
            arguments[0] = _told(arguments[0])


def _told(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.And):
        value.values = [*map(_told, value.values)]
    is_bare = isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.Await))
    return ast.Call(ast.Name(TRUTH, ast.Load()), [value], []) if is_bare else value


def _guarded(statement: ast.stmt, kind: str) -> ast.stmt:
    return ast.Try([statement], [ast.ExceptHandler(None, None, [_call(FAILED, kind), ast.Raise()])], [], [])


def _call(name: str, *args: str) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(name, ast.Load()), [*map(ast.Constant, args)], []))


def plan(tests: Tests) -> dict[str, Any]:
    """Return what running tests takes to know of them, as JSON: found once for a row, not once for a response."""
    records = [node for node in tests.tree.body if is_record(node)]
    return {
        **{name: sorted(getattr(tests, name)) for name in SETS},
        "handed": sorted(_handed(tests.tree)),
        "own": sorted(own_names.of_tests(tests)),
        "placeholders": sorted(own_names.placeholders(tests)),
        "due": sorted({function.name for function in reach.due(tests.tree)}),
        "records": "\n".join(map(portable, records)),
        "run": ast.unparse(instrumented(ast.parse(ast.unparse(tests.tree)))),
    }


def _handed(tree: ast.Module) -> set[str]:
    """Return functions of the tests that they hand over in a call of whose result they make nothing."""
    calls = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    calls = [call for call in calls if not is_check(ast.Expr(call))]
    parts = [argument for call in calls for argument in (*call.args, *(keyword.value for keyword in call.keywords))]
    nodes = (node for part in parts for node in ast.walk(part) if isinstance(node, (ast.Name, ast.Attribute)))
    return {node.id if isinstance(node, ast.Name) else node.attr for node in nodes}

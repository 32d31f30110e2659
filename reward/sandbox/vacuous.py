"""Checks that cannot fail, or whose failure changes nothing, as far as the source of tests shows. Runs nothing."""

import ast

DISPLAYS = (ast.Tuple, ast.List, ast.Set)
FAILURES = {"AssertionError", "Exception", "BaseException"}
OUTCOMES = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Break, ast.Continue, ast.Raise)


def is_always_true(node: ast.expr) -> bool:
    """Whether an expression is true whatever the code does: ``(f(1) == 2, "message")``, ``[f(1) == 2]``, ``1 == 1``."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, DISPLAYS):
        return any(not isinstance(each, ast.Starred) for each in node.elts)
    if isinstance(node, ast.Dict):
        return any(key is not None for key in node.keys)
    if isinstance(node, (ast.ListComp, ast.SetComp)):  # of verdicts: all() is what was meant
        return isinstance(node.elt, (ast.Compare, ast.BoolOp))
    if isinstance(node, ast.BoolOp):
        return (any if isinstance(node.op, ast.Or) else all)(map(is_always_true, node.values))
    if isinstance(node, ast.Compare):
        return all(isinstance(each, ast.Constant) for each in (node.left, *node.comparators))
    return isinstance(node, (ast.Lambda, ast.GeneratorExp))


def cannot_fail(node: ast.AST) -> bool:
    """Whether a check holds whatever the code does; in an ``if`` or a ``try`` to get there may be what is tested."""
    if isinstance(node, ast.Assert):
        return is_always_true(node.test)
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args:
        return False
    name = getattr(call.func, "attr", "")
    if name in ("assertTrue", "assert_"):
        return is_always_true(call.args[0])
    return name == "assertEqual" and all(isinstance(each, ast.Constant) for each in call.args[:2])


def is_swallowed(node: ast.Try, handler: ast.ExceptHandler) -> bool:
    """Whether a handler makes nothing of a failed assertion: neither it nor the body leaves a trace of it."""
    names = {getattr(each, "id", "") for each in ast.walk(handler.type)} if handler.type else FAILURES
    if not names & FAILURES:
        return False
    inside = [inner for each in (*node.body, *handler.body, *node.orelse) for inner in ast.walk(each)]
    checks = [inner for each in handler.body for inner in ast.walk(each) if isinstance(inner, ast.Assert)]
    calls = {getattr(each.func, "attr", "") for each in inside if isinstance(each, ast.Call)}
    traces = any(isinstance(each, OUTCOMES) for each in inside) or calls & {"append", "add", "fail", "exit"}
    asserted = [each for each in inside if isinstance(each, ast.Assert)]
    only_ends = bool(asserted) and all(isinstance(each.test, ast.Constant) for each in asserted)  # assert False
    return not traces and not checks and not only_ends


def is_dropped(node: ast.Try) -> bool:
    """Whether a ``finally`` ends an exception, by ``return`` or its like."""
    return any(isinstance(each, (ast.Return, ast.Break, ast.Continue)) for each in node.finalbody)

"""Loops over a result in which tests look up what is due: ``for i, x in enumerate(f(3)): assert x == wanted[i]``."""

import ast
from collections.abc import Sequence
from typing import Any

from reward.sandbox.source import function

BESIDE = "__beside__"  # what tests call with the result of such a loop, and with functions that return what is due


def beside(tree: ast.Module) -> ast.Module:
    """Return tests that say what they look up in a loop over a result, by the index or the key of its items."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            if not any(isinstance(inner, (ast.Break, ast.Return)) for part in node.body for inner in ast.walk(part)):
                _say(node, node.body)
        elif isinstance(node, (ast.GeneratorExp, ast.ListComp)) and len(node.generators) == 1:
            _say(node.generators[0], [node.elt])
    return tree


def _say(loop: ast.For | ast.comprehension, body: Sequence[ast.AST]) -> None:
    over, index = _over(loop)
    if over is None:
        return
    nodes = [node for part in body for node in ast.walk(part)]
    lookups = [node for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)]
    by_index = [node.value for node in lookups if isinstance(node.slice, ast.Name) and node.slice.id == index]
    tables = {ast.unparse(table) for table in by_index} - {ast.unparse(over)}
    if tables:
        nobody = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        due = [ast.Lambda(nobody, ast.Name(name, ast.Load())) for name in sorted(tables)]
        loop.iter = _Replaced(over, ast.Call(ast.Name(BESIDE, ast.Load()), [over, *due], [])).visit(loop.iter)


def without(tree: ast.Module) -> ast.Module:
    """Return tests as they were before ``beside``; nodes that are left are the same."""
    _Removed().visit(tree)
    return tree


def looked_over(node: ast.AST) -> ast.AST:
    """Return what stood there before ``beside``."""
    is_said = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == BESIDE
    return node.args[0] if is_said else node  # type: ignore[attr-defined]


class _Removed(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return looked_over(node)


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else super().visit(node)


def _over(loop: ast.For | ast.comprehension) -> tuple[ast.expr | None, str]:
    """Return what a loop goes over, and the name of the index or key: ``enumerate(r)``, ``len(r)``, ``r.items()``."""
    call, target = loop.iter, loop.target
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    if not isinstance(first, ast.Name):
        return None, ""
    if not isinstance(call, ast.Call):
        return (call if first is target else None), first.id
    name, is_pair = function(call), first is not target
    if isinstance(call.func, ast.Attribute):
        is_whole = not call.args and name == ("items" if is_pair else "keys")
        return (call.func.value if is_whole else None), first.id
    if len(call.args) == 1 and name == "enumerate" and is_pair:
        return call.args[0], first.id
    inner = call.args[0] if len(call.args) == 1 and name == "range" and not is_pair else None
    if isinstance(inner, ast.Call) and function(inner) == "len" and len(inner.args) == 1:
        return inner.args[0], first.id
    return (None if name in ("range", "enumerate", "zip") or is_pair else call), first.id

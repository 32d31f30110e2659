"""Checks that cannot fail, or whose failure changes nothing, as far as the source of tests shows. Runs nothing."""

import ast
import builtins
from collections.abc import Iterator

DISPLAYS = (ast.Tuple, ast.List, ast.Set)
FAILURES = {"AssertionError", "Exception", "BaseException"}
WEAK = {"isinstance", "callable", "hasattr", "assertIsInstance", "assertIsNotNone", "issubclass"}
PRINTS = {"print", "write", "debug", "info", "warning", "error", "critical", "log", "pprint"}
ENDS = {"exit", "_exit", "fail"}  # functions that end the tests


def is_always_true(node: ast.expr) -> bool:
    """Whether an expression is true whatever the code does: ``(f(1) == 2, "message")``, ``[f(1) == 2]``, ``1 == 1``."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, DISPLAYS):
        return any(not isinstance(element, ast.Starred) for element in node.elts)
    if isinstance(node, ast.Dict):
        return any(key is not None for key in node.keys)
    if isinstance(node, (ast.ListComp, ast.SetComp)):  # of verdicts: all() is what was meant
        return isinstance(node.elt, (ast.Compare, ast.BoolOp))
    if isinstance(node, ast.BoolOp):
        return (any if isinstance(node.op, ast.Or) else all)(map(is_always_true, node.values))
    if isinstance(node, ast.Compare):
        return all(isinstance(side, ast.Constant) for side in (node.left, *node.comparators))
    return isinstance(node, (ast.Lambda, ast.GeneratorExp))


def cannot_fail(node: ast.AST) -> bool:
    """Whether a check holds whatever the code does; in an ``if`` or a ``try`` to get there may be what is tested."""
    if isinstance(node, ast.Assert):
        return is_always_true(node.test)
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args:
        return False
    name = getattr(call.func, "attr", "")
    if name in ("assertTrue", "assertFalse", "assert_"):
        return compares_nothing(call) or (name != "assertFalse" and is_always_true(call.args[0]))
    return name == "assertEqual" and all(isinstance(argument, ast.Constant) for argument in call.args[:2])


def compares_nothing(node: ast.AST) -> bool:
    """Whether it is ``assertTrue(f(1), 2)``: the second argument is a message, and this is none."""
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") not in ("assertTrue", "assertFalse", "assert_"):
        return False
    values = node.args[1:2]
    if values and isinstance(values[0], ast.UnaryOp):
        values = [values[0].operand]
    return any(
        isinstance(value, (*DISPLAYS, ast.Dict))
        or (isinstance(value, ast.Constant) and value.value is not None and not isinstance(value.value, str))
        for value in values
    )


def swallowing(tree: ast.Module) -> set[int]:
    """Return the ids of handlers that make nothing of a failed check: no check depends on a trace that they leave."""
    relevant = _relevant_names(tree)
    return {
        id(handler)
        for node, owner, in_loop in _tries(tree, "", False)
        for handler in node.handlers
        if _is_swallowed(node, handler, relevant, owner in relevant or in_loop)
    }


def printed_comparison(tree: ast.Module, checks: list[ast.AST]) -> str:
    """Return a comparison whose result is printed at most, where no check compares anything; empty if there is none."""
    if not all(map(_is_weak, checks)):
        return ""
    relevant = _relevant_names(tree)
    for node in ast.walk(tree):
        lost: ast.AST | None = None
        if isinstance(node, ast.Expr) and _prints(node):
            lost = node
        elif isinstance(node, ast.If) and not any(
            _has_effect(statement, relevant) for statement in (*node.body, *node.orelse)
        ):
            lost = node.test
        elif isinstance(node, ast.Assign) and not _has_effect(node, relevant):
            lost = node.value
        for inner in ast.walk(lost) if lost else ():
            if isinstance(inner, ast.Compare) and getattr(inner.left, "id", "") != "__name__":
                return ast.unparse(inner)[:80]
    return ""


def _is_weak(check: ast.AST) -> bool:
    """Whether a check asks of a result no more than that it is there, or of what class it is."""
    names = {
        str(getattr(node.func, "attr", getattr(node.func, "id", "")))
        for node in ast.walk(check)
        if isinstance(node, ast.Call)
    }
    if isinstance(check, ast.Assert):
        compared = [node for node in ast.walk(check.test) if isinstance(node, ast.Compare)]
        return all(isinstance(op, (ast.IsNot, ast.NotEq)) for comparison in compared for op in comparison.ops) and (
            bool(names & WEAK) or bool(compared)
        )
    return bool(names & WEAK)


def _prints(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) in PRINTS


def _has_effect(node: ast.stmt, relevant: set[str]) -> bool:
    """Whether a statement does more than print, or set what no check depends on."""
    if isinstance(node, ast.If):
        return any(_has_effect(statement, relevant) for statement in (*node.body, *node.orelse))
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return any(not isinstance(target, ast.Name) or target.id in relevant for target in _targets(node))
    return not (isinstance(node, ast.Pass) or _prints(node))


def lost_raise(tree: ast.Module) -> str:
    """Return the exception that tests raise where something is wrong, catch, and make nothing of; empty if none."""
    swallowed = swallowing(tree)
    functions = {
        node.name: node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for node, _, _ in _tries(tree, "", False):
        handlers = [handler for handler in node.handlers if id(handler) in swallowed]
        names = {name for handler in handlers for name in (_bases(handler.type) if handler.type else {"BaseException"})}
        inside = [inner for statement in node.body for inner in ast.walk(statement)]
        called = {str(getattr(inner.func, "id", "")) for inner in inside if isinstance(inner, ast.Call)}
        inside += [inner for name in called & functions.keys() for inner in ast.walk(functions[name])]
        for branch in (inner for inner in inside if isinstance(inner, ast.If)):
            for raised in (inner for inner in ast.walk(branch) if isinstance(inner, ast.Raise) and inner.exc):
                call = raised.exc.func if isinstance(raised.exc, ast.Call) else raised.exc
                name = str(getattr(call, "id", ""))
                kind = getattr(builtins, name, None)
                parents = {base.__name__ for base in kind.__mro__} if isinstance(kind, type) else {name, *FAILURES}
                if name and parents & names and name != "AssertionError":
                    return name
    return ""


def _tries(node: ast.AST, owner: str, in_loop: bool) -> Iterator[tuple[ast.Try, str, bool]]:
    """Yield each ``try`` with the function that it stands in, and whether in a loop of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try):
            yield child, owner, in_loop
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _tries(child, child.name, False)
        else:
            yield from _tries(child, owner, in_loop or isinstance(child, (ast.For, ast.AsyncFor, ast.While)))


def _is_swallowed(node: ast.Try, handler: ast.ExceptHandler, relevant: set[str], returns: bool) -> bool:
    """Whether a handler makes nothing of what it catches; ``returns``: what the function returns counts."""
    inside = [inner for statement in (*node.body, *handler.body, *node.orelse) for inner in ast.walk(statement)]
    asserted = [inner for inner in inside if isinstance(inner, ast.Assert)]
    if asserted and all(isinstance(check.test, ast.Constant) for check in asserted):  # assert False
        return False
    after = (inner for part in (*handler.body, *node.orelse) for inner in ast.walk(part))
    if any(isinstance(inner, (ast.Assert, ast.Raise)) for inner in after):
        return False
    return not any(_leaves_trace(inner, relevant, returns) for inner in inside)


def _leaves_trace(node: ast.AST, relevant: set[str], returns: bool) -> bool:
    if isinstance(node, ast.Return):
        return returns
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ENDS or bool(_bases(node.func.value) & relevant)
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ENDS
    return any(_bases(target) & relevant for target in _targets(node))


def _targets(node: ast.AST) -> list[ast.expr]:
    """Return what a node assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension)):
        return [node.target]
    return []


def _bases(node: ast.AST) -> set[str]:
    """Return the names of variables, attributes and functions in an expression."""
    return {str(getattr(inner, "attr", getattr(inner, "id", ""))) for inner in ast.walk(node)} - {""}


def _relevant_names(tree: ast.Module) -> set[str]:
    """Return names on whose values a check of the tests depends, directly or through others."""
    nodes = [*ast.walk(tree)]
    names: set[str] = set()
    flows: list[tuple[set[str], set[str]]] = []  # where one of the former is relevant, so are the latter
    for node in nodes:
        if isinstance(node, ast.Assert):
            names |= _bases(node.test)
        elif isinstance(node, ast.Call):
            function = str(getattr(node.func, "attr", getattr(node.func, "id", "")))
            values = set[str]().union(*map(_bases, (*node.args, *(keyword.value for keyword in node.keywords))))
            if function in ENDS or function.startswith(("assert", "raises")):
                names |= values
            elif isinstance(node.func, ast.Attribute):  # failures.append(name)
                flows.append((_bases(node.func.value), values))
        elif isinstance(node, (ast.If, ast.IfExp)) and any(map(_is_failure, ast.walk(node))):
            names |= _bases(node.test)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = [child.value for child in ast.walk(node) if isinstance(child, ast.Return) and child.value]
            flows.append(({node.name}, set[str]().union(*map(_bases, inner))))
            flows.append(({node.name}, set[str]().union(*map(_bases, node.decorator_list))))
        value = node.iter if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) else None
        value = value or getattr(node, "value", None)
        for target in _targets(node):
            flows.append((_bases(target), _bases(value) if value else set()))
    size = -1
    while size != len(names):
        size = len(names)
        names = names.union(*(sources for targets, sources in flows if targets & names))
    return names


def _is_failure(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(node, (ast.Raise, ast.Assert)) or getattr(function, "attr", getattr(function, "id", "")) in ENDS


def wants_failure(node: ast.AST) -> bool:
    """Whether a call of unittest's or pytest's wants an assertion to fail: ``raises(AssertionError)``."""
    heads = [item.context_expr for item in node.items] if isinstance(node, (ast.With, ast.AsyncWith)) else [node]
    names = {getattr(inner, "id", "") for head in heads for inner in ast.walk(head)}
    return not isinstance(node, ast.Assert) and bool(names & FAILURES)

"""Whether the checks of tests are run at all, as far as their source shows. Runs nothing."""

import ast
from collections.abc import Iterator

from reward.sandbox import source

# How the names begin of what a test runner, or Python, calls by itself.
STARTED = ("test", "setUp", "setup", "tearDown", "teardown", "asyncSetUp", "asyncTearDown", "__")
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


def unreached(tests: source.Tests) -> str:
    """Say where the only checks of tests are, if nothing runs them; empty where a check is run."""
    functions = [*_functions(tests.tree, None)]
    lost = _lost_calls(tests.tree, [node for node, _ in functions])
    nodes, named, started = [*_top(tests.tree.body)], set[str](), functions
    while started:
        if any(source.is_check(node) or source.may_raise(node) for node in nodes):
            return ""
        named |= {name for node in nodes if id(node) not in lost for name in [_name(node)] if name}
        started = [pair for pair in functions if _is_started(*pair, named)]
        functions = [pair for pair in functions if pair not in started]
        nodes = [node for function, _ in started for each in function.body for node in _walk(each)]
    if any(source.is_check(node) or source.may_raise(node) for node in nodes):
        return ""
    left = (node.name for node, _ in functions if any(map(source.is_check, ast.walk(node))))
    return f"in {next(left, 'a branch that is never taken')}, which nothing runs"


def _functions(node: ast.AST, owner: ast.ClassDef | None) -> Iterator[tuple[AnyFunction, ast.ClassDef | None]]:
    """Yield all functions with the class that they are a method of."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, source.Function):
            yield child, owner
        yield from _functions(child, child if isinstance(child, ast.ClassDef) else None)


def _is_started(node: AnyFunction, owner: ast.ClassDef | None, named: set[str]) -> bool:
    """Whether a function is run by a test runner, or by those that name it."""
    if any(_name(part) == "skip" for each in node.decorator_list for part in ast.walk(each)):
        return False
    if node.name in named:
        return True
    if owner is not None and not (owner.bases or owner.name.startswith("Test") or owner.name in named):
        return False
    return bool(node.decorator_list) or node.name == "check" or node.name.startswith(STARTED)


def _lost_calls(tree: ast.AST, functions: list[AnyFunction]) -> set[int]:
    """Return the ids of names that are called, of coroutines and generators, where nothing waits for the result."""
    lazy = {node.name for node in functions if isinstance(node, ast.AsyncFunctionDef) or source.yields(node)}
    calls = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    return {id(call.func) for call in calls if _name(call.func) in lazy}


def _top(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes that run when the tests are loaded as ``__main__``."""
    for statement in body:
        if isinstance(statement, (ast.If, ast.While)) and _is_never(statement.test):
            yield from _top(statement.orelse)
        else:
            yield from _walk(statement)


def _is_never(test: ast.expr) -> bool:
    """Whether a condition is false: ``False``, ``__name__ == 'other'``, ``__name__ != '__main__'``."""
    if isinstance(test, ast.Constant):
        return not test.value
    if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"):
        return False
    is_main = getattr(test.comparators[0], "value", "__main__") == "__main__"
    return is_main == isinstance(test.ops[0], ast.NotEq)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a statement with its lambdas, but not into the functions that it defines."""
    if isinstance(node, source.Function):
        yield from (inner for each in node.decorator_list for inner in _walk(each))
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))

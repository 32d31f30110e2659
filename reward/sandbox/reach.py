"""Whether the checks of tests are run at all, as far as their source shows. Runs nothing."""

import ast
from collections.abc import Iterator

from reward.sandbox import source

# How the names begin of what a test runner, or Python, calls by itself.
STARTED = ("test", "setUp", "setup", "tearDown", "teardown", "asyncSetUp", "asyncTearDown", "__")
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


def unreached(tests: source.Tests) -> str:
    """Say where checks of tests are that nothing runs; empty where all of them are run."""
    functions = [*_functions(tests.tree, None)]
    lost = _lost_calls(tests.tree, [node for node, _ in functions])
    nodes, named, started, checks = [*_top(tests.tree.body)], set[str](), functions, False
    while started:
        checks = checks or any(source.is_check(node) or source.may_raise(node) for node in nodes)
        named |= {name for node in nodes if id(node) not in lost for name in [_name(node)] if name}
        started = [pair for pair in functions if _is_started(*pair, named)]
        functions = [pair for pair in functions if pair not in started]
        nodes = [node for function, _ in started for statement in function.body for node in _walk(statement)]
    checks = checks or any(source.is_check(node) or source.may_raise(node) for node in nodes)
    wanted = [*map(id, due(tests.tree))] if checks else []
    left = [node.name for node, _ in functions if (id(node) in wanted if checks else _checks(node))]
    if checks and not left:
        return ""
    return f"{'' if checks else 'only '}in {(left or ['a branch that is never taken'])[0]}, which nothing runs"


def due(tree: ast.Module) -> list[AnyFunction]:
    """Return functions with checks that a pass must have run.

    They are tests without parameters, coroutines, generators, and what is mapped and never run.
    """
    functions: list[AnyFunction] = []
    mapped = {_name(inner) for node in ast.walk(tree) if _is_lost_map(node) for inner in ast.walk(node)}
    waiting: list[tuple[ast.stmt, bool]] = [(node, False) for node in tree.body]
    while waiting:
        node, is_method = waiting.pop()
        marks = (part for decorator in getattr(node, "decorator_list", ()) for part in ast.walk(decorator))
        if any(_name(part).startswith("skip") for part in marks):
            continue
        if isinstance(node, ast.ClassDef):
            waiting += [(statement, True) for statement in node.body]
        elif isinstance(node, source.Function):
            waiting += [(statement, False) for statement in node.body]
            required = len(node.args.args) - len(node.args.defaults) - is_method
            is_lazy = isinstance(node, ast.AsyncFunctionDef) or source.yields(node)
            if (required <= 0 or is_lazy or node.name in mapped) and not node.name.startswith("__") and _asks(node):
                functions.append(node)
    return functions


def _asks(node: AnyFunction) -> bool:
    """Whether a function checks more than that it is not called, as ``def never(): assert False`` does."""
    nodes = (inner for statement in node.body for inner in source.shallow(statement))
    return any((source.is_check(inner) and not source.forbids(inner)) or source.may_raise(inner) for inner in nodes)


def _checks(node: AnyFunction) -> bool:
    """Whether a function itself checks something."""
    nodes = (inner for statement in node.body for inner in source.shallow(statement))
    return any(source.is_check(inner) or source.may_raise(inner) for inner in nodes)


def _functions(node: ast.AST, owner: ast.ClassDef | None) -> Iterator[tuple[AnyFunction, ast.ClassDef | None]]:
    """Yield all functions with the class that they are a method of."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, source.Function):
            yield child, owner
        yield from _functions(child, child if isinstance(child, ast.ClassDef) else None)


def _is_started(node: AnyFunction, owner: ast.ClassDef | None, named: set[str]) -> bool:
    """Whether a function is run by a test runner, or by those that name it."""
    if any(_name(part) == "skip" for decorator in node.decorator_list for part in ast.walk(decorator)):
        return False
    if node.name in named:
        return True
    if owner is not None and not (owner.bases or owner.name.startswith("Test") or owner.name in named):
        return False
    return bool(node.decorator_list) or node.name == "check" or node.name.startswith(STARTED)


def _lost_calls(tree: ast.AST, functions: list[AnyFunction]) -> set[int]:
    """Return the ids of names of functions that are called and nothing waits for the result, or takes its items."""
    lazy = {node.name for node in functions if isinstance(node, ast.AsyncFunctionDef) or source.yields(node)}
    lost: set[int] = set()
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if _is_lost_map(node):
            lost |= {id(child) for child in ast.walk(node)}
        elif isinstance(value, ast.Call):
            inner = value.args[0] if _name(value.func) == "next" and value.args else value
            if isinstance(inner, ast.Call) and _name(inner.func) in lazy:
                lost.add(id(inner.func))
    return lost


def _is_lost_map(node: ast.AST) -> bool:
    """Whether a statement makes an iterator that nobody takes items of."""
    value = node.value if isinstance(node, ast.Expr) else None
    name = _name(value.func) if isinstance(value, ast.Call) else ""
    return isinstance(value, ast.GeneratorExp) or name in ("map", "filter", "starmap")


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
        yield from (inner for decorator in node.decorator_list for inner in _walk(decorator))
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))

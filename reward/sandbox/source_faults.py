"""Why tests cannot test any code, as far as their source shows: said before a launch, and where such tests pass."""

import ast
from collections.abc import Iterator

from reward.sandbox import reach, source
from reward.sandbox.source import Function, Tests, is_check, may_raise


def fault(tests: Tests) -> str:
    """Return why tests cannot test any code here, in one line; empty where they can as far as the source shows."""
    tree = tests.tree
    if not any(is_check(node) or may_raise(node) for node in ast.walk(tree)):
        return "the tests check nothing: no assert, no assertion of unittest or pytest"
    if where := reach.unreached(tests):
        return f"the tests check only {where}"
    if not source.has_checks(tree):
        return "the tests check nothing: what they assert is true whatever the code does, as (f(1) == 2, 'text') is"
    runs = [*_runnable(tree, tests)]
    generators = [node.name for node in runs if source.yields(node)]
    if generators:
        return f"{generators[0]} of the tests is a generator, whose body never runs"
    if "check" in {node.name for node in tree.body if isinstance(node, Function)} - tests.called_at_top:
        if not tests.entry:
            return (
                "the tests define check(candidate), and nothing says which function of the code it is for: entry_point"
            )
    elif not tests.asked and not tests.of_solution:  # a task of MBPP asks for a function named sum
        return "the tests never mention the code: all names in them are their own"
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "id", ""))
        if name in ("expectedFailure", "xfail", "fixture", "monkeypatch", "capsys", "tmp_path", "usefixtures"):
            return f"the tests use {name}, which is not run here"
    for node in runs:
        if (lacking := _fixtures(node)) and not tests.called_at_top & {node.name}:
            return f"{node.name} of the tests takes the fixture {lacking}, and fixtures are not run here"
    return ""


def _runnable(tree: ast.Module, tests: Tests) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the test functions, and the methods of classes of pytest."""
    for node in tree.body:
        if isinstance(node, Function) and (node.name.startswith("test") or (tests.entry and node.name == "check")):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (each for each in node.body if isinstance(each, Function) and each.name.startswith("test"))


def _fixtures(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if node.name == "check" or node.decorator_list:  # parametrize, patch: known when it runs
        return ""
    args = node.args.args[: len(node.args.args) - len(node.args.defaults)]
    return next((each.arg for each in args if each.arg not in ("self", "cls")), "")

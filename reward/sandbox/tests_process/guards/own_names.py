"""Names that tests bind themselves: ``from solution import *`` takes none of them away.

Tests that import ``isclose`` or define ``expected``, and then everything of the code's, mean their own.
"""

import ast
import contextlib
import importlib
from collections.abc import Iterable

from reward.sandbox.free_names import is_library
from reward.sandbox.source import Function, Tests, function, is_stub


def of_tests(tests: Tests) -> set[str]:
    """Return the names that tests and their setup bind at the top.

    One of ``from math import *`` is not among them where the tests ask for nothing else: it is what they test.
    """
    bodies = [ast.parse(tests.setup).body, tests.tree.body]
    names = bound(bodies) | (_bound_to_none(bodies) - placeholders(tests))
    return names if tests.free - names else names - starred(bodies)


def bound(bodies: Iterable[list[ast.stmt]]) -> set[str]:
    """Return the names that statements bind at the top: imports, definitions that are more than stubs, values."""
    names: set[str] = set()
    for node in (statement for body in bodies for statement in body):
        if isinstance(node, (*Function, ast.ClassDef)):
            names |= set() if is_stub(node) else {node.name}
        elif isinstance(node, ast.Import):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module != "solution":
            names |= {alias.asname or alias.name for alias in node.names}
            names |= of_library(node.module or "") if "*" in names else set()
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and not _is_none(node.value):
            names |= _targets(node)
    return names - {"*"}


def placeholders(tests: Tests) -> set[str]:
    """Return the names that tests bind to None at the top, and call: the code is to define them."""
    called = {function(node) for node in tests.nodes if isinstance(node, ast.Call)}
    return _bound_to_none([ast.parse(tests.setup).body, tests.tree.body]) & called


def _bound_to_none(bodies: Iterable[list[ast.stmt]]) -> set[str]:
    nodes = [node for body in bodies for node in body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value]
    return {name for node in nodes if _is_none(node.value) for name in _targets(node)}


def _targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def starred(bodies: Iterable[list[ast.stmt]]) -> set[str]:
    """Return the names that ``from itertools import *`` and its like bind at the top."""
    nodes = [node for body in bodies for node in body if isinstance(node, ast.ImportFrom) and node.module]
    modules = {str(node.module) for node in nodes if any(alias.name == "*" for alias in node.names)}
    return {name for module in modules for name in of_library(module)}


def of_library(module: str) -> set[str]:
    """Return the public names of a module of the standard library's, or of numpy's; of any other, none."""
    if is_library(module):
        with contextlib.suppress(ImportError):
            library = importlib.import_module(module)
            return {*getattr(library, "__all__", [name for name in vars(library) if not name.startswith("_")])}
    return set()


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value in (None, ...))

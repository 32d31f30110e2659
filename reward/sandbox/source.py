"""What can be known of tests, and of code, from their source alone. Standard library only; runs nothing."""

import ast
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from reward.sandbox.free_names import BUILTINS, free
from reward.sandbox.objects import QUESTIONS

# Attributes that say nothing of a class: plain values have them, arrays too.
OF_BUILTINS = frozenset(
    {
        *QUESTIONS,
        *(
            name
            for kind in (list, set, complex, Decimal, Fraction, datetime.datetime, datetime.timedelta)
            for name in dir(kind)
        ),
        *(
            "shape",
            "dtype",
            "ndim",
            "size",
            "T",
            "tolist",
            "item",
            "all",
            "any",
            "sum",
            "mean",
            "max",
            "min",
            "flatten",
            "astype",
        ),
    }
)
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPOUND = (ast.If, ast.Try, ast.Match)
COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass(frozen=True)
class Tests:
    """The source of tests and of what runs before them."""

    source: str
    setup: str = ""
    helpers: str = ""  # the part of the prompt that defines what the tests may use
    entry: str = ""

    @cached_property
    def tree(self) -> ast.Module:
        """The tests."""
        return ast.parse(self.source)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of them and of the setup, but for constants."""
        return [*walk(self.tree), *walk(ast.parse(self.setup))]

    @cached_property
    def mentioned(self) -> set[str]:
        """Every name in them, or of an attribute."""
        names: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.ImportFrom):
                names |= {alias.name for alias in node.names}
        return names

    @cached_property
    def free(self) -> set[str]:
        """Names that neither they nor the setup define, nor Python."""
        return self.asked - BUILTINS

    @cached_property
    def asked(self) -> set[str]:
        """Names that neither they nor the setup define."""
        of_tests, of_setup = free(self.source), free(self.setup)
        setup = ast.parse(self.setup).body
        given = {node.name for node in setup if is_stub(node)}  # type: ignore[attr-defined]
        return (of_tests[0] - (of_setup[1] - given)) | of_setup[0] | given & (of_tests[0] | of_tests[1])

    @cached_property
    def of_solution(self) -> set[str]:
        """Names that they import from ``solution`` or read of it; ``*`` for all, ``solution`` for the module."""
        names: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and node.module == "solution":
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Import) and any(alias.name == "solution" for alias in node.names):
                names.add("solution")
            elif isinstance(node, ast.Attribute) and _variable(node.value) == "solution":
                names.add(node.attr)
            elif isinstance(node, ast.Call) and function(node) in ("hasattr", "getattr") and len(node.args) > 1:
                names |= {str(getattr(node.args[1], "value", ""))} if _variable(node.args[0]) == "solution" else set()
        return names

    @cached_property
    def classes(self) -> set[str]:
        """Names that they use as classes of the code's: by attributes of objects, ``isinstance`` or ``except``."""
        made: dict[str, str] = {}  # variable -> class that it was made of
        names: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Assign) and (name := _called(node.value)):
                made |= {target: name for target in map(_variable, node.targets) if target}
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
                owner = node.value
                name = _called(owner) or made.get(_variable(owner) or "") or ""
                if name and node.attr not in OF_BUILTINS:
                    names.add(name)
                elif isinstance(owner, ast.Name) and owner.id[0].isupper():  # f.cache_clear() is a function's
                    names.add(owner.id)
            elif isinstance(node, ast.Call) and (name := function(node)) and len(node.args) > 1:
                if name in ("isinstance", "issubclass", "assertIsInstance"):
                    names |= {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)}
            elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
                names.add(node.type.id)
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                names |= {name for item in node.items if (name := _called(item.context_expr))[:1].isupper()}
        return names | self._compared

    @cached_property
    def _compared(self) -> set[str]:
        """Classes, by their capital letter, whose objects they compare with each other: ``V(2) * 3 == V(6)``."""
        made: dict[str, set[str]] = {}

        def named(part: ast.AST) -> set[str]:
            names = {name for node in walk(part) if (name := _called(node)) and name[0].isupper()}
            return names.union(*(made.get(node.id, ()) for node in walk(part) if isinstance(node, ast.Name)))

        for node in self.nodes * 3:  # they are in no order, and a variable may be made of variables
            if isinstance(node, ast.Assign) and (names := named(node.value)):
                parts = (inner for target in node.targets for inner in ast.walk(target))  # a, b = V(1), V(2)
                made |= {piece.id: names for piece in parts if isinstance(piece, ast.Name)}
        both: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
                both |= named(node.left) & named(node.comparators[0])
            elif isinstance(node, ast.Call) and (function(node) or "").startswith("assert") and len(node.args) > 1:
                both |= named(node.args[0]) & named(node.args[1])
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], COMPARED):  # Version("1.3") > "1.2"
                sides = (side for side in (node.left, *node.comparators) if isinstance(side, (ast.Name, ast.Call)))
                both |= {name for side in sides for name in named(side) if not name.isupper()}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, (ast.BinOp, ast.UnaryOp)):
                both |= named(node.value)  # (V(1) * 2).x
        return both

    @cached_property
    def fallbacks(self) -> set[str]:
        """Functions of theirs for want of the code's, by ``except ImportError``: they are helpers, and theirs."""
        tries = (node for node in self.nodes if isinstance(node, ast.Try))
        nodes = (statement for node in tries for handler in node.handlers for statement in handler.body)
        return {node.name for node in nodes if isinstance(node, Function) and not is_stub(node)}

    @cached_property
    def called_at_top(self) -> set[str]:
        """Functions of theirs that they call themselves."""
        quiet = (ast.Assert, ast.Import, ast.ImportFrom)
        statements = [statement for statement in self.tree.body if not isinstance(statement, quiet)]
        calls = (node for statement in statements for node in shallow(statement) if isinstance(node, ast.Call))
        return {name for call in calls if (name := function(call))}

    @cached_property
    def modules(self) -> set[str]:
        """Modules that they import."""
        names: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
        return names


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes as ``ast.walk`` does; tests may hold megabytes of constants."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                waiting += [item for item in value if isinstance(item, ast.AST) and type(item) is not ast.Constant]
            elif isinstance(value, ast.AST) and not isinstance(value, (ast.Constant, ast.expr_context)):
                waiting.append(value)


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def function(node: ast.Call) -> str:
    """Return the name of what is called, or of the attribute that is."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _variable(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_stub(node: ast.AST) -> bool:
    """Whether a definition only says what is to be written: a docstring, ``...``, ``pass``, NotImplementedError."""
    if isinstance(node, Function):
        return all(is_empty(member) for member in node.body)
    if isinstance(node, ast.ClassDef):
        return all(is_stub(member) or is_empty(member) or isinstance(member, ast.AnnAssign) for member in node.body)
    return False


def is_empty(node: ast.stmt) -> bool:
    """Whether a statement does nothing: a docstring, ``...``, ``pass``, ``return None``, NotImplementedError."""
    if isinstance(node, ast.Return):
        return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    if isinstance(node, ast.Raise):
        names = (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
        return "NotImplementedError" in names
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def helpers(prompt: str, entry: str) -> str:
    """Return the part of a prompt that the tests may use: imports, constants, functions other than what is asked."""
    tree = None
    lines = prompt.splitlines()
    for end in range(len(lines), 0, -1):  # a prompt may end in the middle of a function
        try:
            tree = ast.parse("\n".join(lines[:end]))
            break
        except (SyntaxError, ValueError, RecursionError):
            continue
    kept = [
        node
        for node in (tree.body if tree else [])
        if isinstance(node, (ast.Import, ast.ImportFrom))
        or (isinstance(node, (*Function, ast.ClassDef)) and node.name != entry and not is_stub(node))
        or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant))
    ]
    return "\n".join(ast.unparse(node) for node in kept)


def shallow(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a statement, but not into the functions and classes that it defines."""
    if isinstance(node, (*Function, ast.ClassDef, ast.Lambda)):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from shallow(child)


def yields(node: ast.AST) -> bool:
    """Whether a function is a generator."""
    return any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for body in node.body for inner in shallow(body))  # type: ignore[attr-defined]


def is_check(node: ast.AST) -> bool:
    """Whether a statement is a check by itself: an assert, or a call of unittest's or pytest's."""
    if isinstance(node, ast.Assert):
        return True
    calls = (inner for inner in shallow(node) if isinstance(inner, ast.Call))
    is_simple = isinstance(node, (ast.Expr, ast.With, ast.AsyncWith))
    return is_simple and any(function(call).startswith(("assert", "raises")) for call in calls)


def may_raise(node: ast.AST) -> bool:
    """Whether a compound statement ends the tests by itself where something is wrong: ``raise``, ``assert False``."""
    return isinstance(node, COMPOUND) and any(map(_is_end, shallow(node)))


def forbids(node: ast.AST) -> bool:
    """Whether a statement says that it must not be reached: ``assert False``."""
    return isinstance(node, ast.Assert) and _is_end(node)


def _is_end(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and not node.test.value
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and function(node) in ("exit", "fail"))

"""Text and pickles of the code's that the tests evaluate: they run in the process that makes the verdict.

Text that stands in the tests is run as it is. Of other text only arithmetic and displays of plain values are evaluated,
and only pickles of plain values are read; text for ``exec`` and ``compile`` cannot be told from an attack.
"""

import ast
import builtins
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reward.sandbox.objects import OBJECTS
from reward.sandbox.tests_process.errors import CodeError
from reward.sandbox.tests_process.link.remote import Link

PURE = ("abs", "min", "max", "sum", "len", "int", "float", "str", "bool", "round", "sorted", "range", "pow", "divmod")
DISPLAYS = ("list", "tuple", "set", "frozenset", "dict", "complex")
PLAIN = (int, float, complex, str, bool, list, tuple, set, frozenset, dict, type(None))
CALLABLE = {getattr(builtins, name) for name in (*PURE, *DISPLAYS)}
NODES = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Call, ast.keyword, ast.Starred, ast.IfExp),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Subscript, ast.Slice, ast.Attribute),
)
COMPARISON = re.compile(r"[=!<>]=|[<>]")  # in a text that the tests make of their own and of the code's
own_code: list[types.CodeType] = []  # the tests and their setup
READABLE = {  # classes that a pickle may name
    "builtins": {"set", "frozenset", "complex", "bytearray", "range", "slice"},
    "collections": {"OrderedDict", "Counter", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
}


def guards(link: Link, sources: list[str]) -> dict[str, Callable[..., Any]]:
    """Return ``eval``, ``exec`` and ``compile`` for tests with these sources."""
    constants = [node for text in sources for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    texts = {node.value.strip() for node in constants if isinstance(node.value, str)}

    def is_own(source: Any) -> bool:
        is_library = sys._getframe(2).f_globals is not link.records.space
        return (
            is_library
            or not isinstance(source, (str, bytes, bytearray))
            or (isinstance(source, str) and source.strip() in texts)
        )

    def spaces(frame: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        return given or (frame.f_globals, frame.f_locals)

    def evaluate(source: Any, *given: Any) -> Any:
        inside = spaces(sys._getframe(1), given)
        if not is_own(source):
            names: dict[str, Any] = {}
            for space in inside:
                names |= space or {}
            compared = any(COMPARISON.search(text) and text in str(source) for text in texts)
            source = _arithmetic(source, names, compared)
        return eval(source, *inside)

    def execute(source: Any, *given: Any) -> None:
        if not is_own(source):
            raise link.refuse("the tests run text as Python (exec), which may be the code's")
        exec(source, *spaces(sys._getframe(1), given))

    def compiled(source: Any, *given: Any, **options: Any) -> Any:
        if not is_own(source):
            raise link.refuse("the tests compile text as Python, which may be the code's")
        return compile(source, *given, **options)

    return {"eval": evaluate, "exec": execute, "compile": compiled}


def _arithmetic(text: Any, names: dict[str, Any], compared: bool = False) -> Any:
    """Return the code object of an expression that can do nothing but compute.

    Args:
        text: of it.
        names: that it may use.
        compared: whether the tests have put a comparison around what is the code's, and nothing may decide but that.

    Raises:
        CodeError: it is none.
    """
    tree = ast.parse(str(text).strip(), mode="eval")
    inside = [*ast.walk(tree)][2:]
    is_bent = "#" in str(text) or any(isinstance(node, (ast.Compare, ast.BoolOp, ast.IfExp)) for node in inside)
    if compared and (is_bent or not isinstance(tree.body, ast.Compare)):
        raise CodeError("text that is more than what is compared, for eval()")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if not isinstance(node, NODES):
            raise CodeError("text that is no arithmetic, for eval()")
        if isinstance(node, ast.Attribute):
            is_known = getattr(node.value, "id", "") == "math" and names.get("math") is sys.modules.get("math")
        elif isinstance(node, ast.Name):
            value = names.get(node.id, getattr(builtins, node.id, None))
            is_known = node.id == "math" or OBJECTS.number(value) is not None
            is_known = is_known or (value in CALLABLE if id(node) in called else type(value) in PLAIN)
        else:
            continue
        if not is_known:
            raise CodeError("text that is no arithmetic, for eval()")
    return compile(tree, "<text>", "eval")


def restrict_files_and_pickles(link: Link) -> None:
    """Let pickles hold plain values only, whatever reads them; run no file of the folder that the code writes to.

    The tests themselves are no such file, nor is text in <>, whatever files of these names the code has made.
    """
    folder = Path.cwd()

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "pickle.find_class" and args[1] not in READABLE.get(args[0], ()):
            raise CodeError(f"a pickle of {args[0]}.{args[1]}"[:200])
        if event == "exec" and not args[0].co_filename.startswith("<") and all(args[0] is not own for own in own_code):
            file = folder / args[0].co_filename
            if file.is_relative_to(folder) and file.exists():
                raise link.refuse("the tests run a file that the code may have written")

    sys.addaudithook(watch)

"""Why tests cannot test any code, as far as their source shows: said before a launch, and where such tests pass."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from reward.sandbox import instrument, objects, reach, source, vacuous
from reward.sandbox.free_names import BUILTINS
from reward.sandbox.source import Function, Tests, is_check, may_raise

NOTHING = "the tests tested nothing: they never asked the code, or checked nothing"
BOUNDLESS = "the tests compare with an infinite tolerance, within which every number is close to every other"
# Beginnings of what is said of checks that are lost, or that nothing fails.
IN_VAIN = ("the tests check something in ", "the tests raise ", BOUNDLESS)
# What a stand-in for a function of the code's, in another process, does not have.
OF_FUNCTIONS = {
    *("__doc__", "__annotations__", "__defaults__", "__kwdefaults__", "__code__", "__closure__", "__globals__"),
    *("__signature__", "__wrapped__", "__module__", "__qualname__"),
}
# Nor a stand-in for a class of its.
OF_CLASSES = {
    *("__bases__", "__base__", "__mro__", "mro", "__subclasses__", "__abstractmethods__", "__slots__", "__members__"),
    *("__hash__", "__orig_bases__", "__dataclass_fields__", "__dataclass_params__", "__match_args__", "__sizeof__"),
}
# What tests may replace for the code: it asks for its input there, and what it prints is printed there.
SHARED = {
    "builtins.input",
    "sys.stdin",
    "sys.stdout",
    "sys.stderr",
    "sys.path",
    "unittest.main",
    "unittest.TestCase.maxDiff",
}
KNOWN_CLASSES = {"object", "BaseException", "type", *objects.VALUES, *objects.ERRORS}  # that stand-ins can be of
# The code's groups of errors come as a text, and their errors not at all.
GROUPS = {"ExceptionGroup", "BaseExceptionGroup"}
# Libraries whose objects do not cross between the tests and the code, or that run a text as Python.
LIBRARIES = {"pandas", "polars", "pyarrow", "torch", "tensorflow", "jax", "sympy", "networkx", "sklearn", "matplotlib"}
RUNNERS_OF_TEXT = {"code": "code.interact", "codeop": "codeop.compile_command"}
UNSAFE_READERS = {"unsafe_load", "unsafe_load_all", "UnsafeLoader"}  # of yaml
# Functions that look into an object, or watch its process; ``inspect`` has no other.
INSPECTORS = {
    "typing": {"get_type_hints"},
    "asyncio": {"iscoroutinefunction"},
    "types": {"FunctionType", "LambdaType", "MethodType", "GeneratorType", "CoroutineType"},
    "dataclasses": {"is_dataclass", "fields", "asdict", "astuple"},
    "pytest": {"warns", "deprecated_call"},
}


def introspection(tests: Tests) -> str:
    """Return what tests ask of a function that only its own process could answer; empty where they do not.

    The code runs in a process of its own, so ``f.__doc__`` and ``inspect.signature(f)`` are not those of the code.
    """
    imports = [node for node in tests.nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {alias.asname or alias.name: alias.name for node in imports for alias in node.names}
    for node in tests.nodes:
        asked = ""
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            asked = next((f"{module}.{alias.name}" for alias in node.names if _inspects(module, alias.name)), "")
        elif isinstance(node, ast.Attribute):
            name = getattr(node.value, "id", "")
            owner = modules.get(name, name)  # the harness imports what tests use without importing it
            asked = f"{owner}.{node.attr}" if _inspects(owner, node.attr) else node.attr
            is_of_class = node.attr == "__dict__" and name[:1].isupper() and name in tests.asked | tests.of_solution
            asked = asked if asked in OF_FUNCTIONS | OF_CLASSES or "." in asked or is_of_class else ""
        elif isinstance(node, ast.Call):
            asked = _of_call(node) or _of_class(node, tests.asked | tests.of_solution)
        elif type(node).__name__ == "TryStar":  # since Python 3.11
            asked = "except*"
        elif isinstance(node, ast.Name):
            asked = node.id if node.id in GROUPS else ""
        elif isinstance(node, ast.Subscript):  # p.__dict__["x"] = 5 would be set in a copy
            is_set = isinstance(node.ctx, ast.Store) and getattr(node.value, "attr", "") == "__dict__"
            asked = "__dict__" * is_set
        if asked:
            return asked
    return ""


def replaced(tests: Tests) -> str:
    """Return what tests replace in a library for the code, whose process has a library of its own; empty where nothing.

    What is read of the tests' own process may be replaced there: ``input``, and what is printed.
    """
    for node in tests.nodes:
        names: list[str] = []
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [target.value if isinstance(target, ast.Subscript) else target for target in targets]
            names = [ast.unparse(part) for part in parts if isinstance(part, ast.Attribute)]
        elif isinstance(node, ast.Call) and node.args:
            function, first = ast.unparse(node.func), node.args[0]
            if function.endswith("patch.object") and len(node.args) > 1:
                names = [f"{ast.unparse(first)}.{getattr(node.args[1], 'value', '')}"]
            elif function.endswith(("patch", "patch.dict")):
                literal = getattr(first, "value", None)
                text = literal if isinstance(literal, str) else ast.unparse(first)
                names = [text] if isinstance(literal, str) or text.rpartition(".")[0] in tests.modules else []
                names = [patched for patched in names if patched not in SHARED]
                if names:
                    return names[0]
        for name in names:
            if name.rpartition(".")[0] in tests.modules - {"solution"} and name not in SHARED:
                return name
    return ""


def foreign(tests: Tests) -> str:
    """Return a library that tests import, and whose objects the two processes cannot hand to each other; or nothing."""
    return next((root for name in sorted(tests.modules) if (root := name.split(".")[0]) in LIBRARIES), "")


def named_library(solution: str, read: str) -> str:
    """Return the library of ``LIBRARIES`` that a row's solution imports, or that its prompt names; or nothing."""
    roots = "|".join(sorted(LIBRARIES))
    named = re.search(rf"^[ \t]*(?:import|from) ({roots})\b", f"{solution}\n{read}", re.MULTILINE)
    if named is None:
        named = re.search(rf"\b({roots})\b", read, re.IGNORECASE)
    return named[1].lower() if named else "pandas" * ("DataFrame" in read)


def derived(tests: Tests) -> str:
    """Return a class of the code's from which tests derive one of theirs; empty where they do not."""
    bases = (base for node in tests.nodes if isinstance(node, ast.ClassDef) for base in node.bases)
    theirs = {*tests.asked, *tests.of_solution} - BUILTINS
    return next((base.id for base in bases if isinstance(base, ast.Name) and base.id in theirs), "")


def evaluated(tests: Tests) -> str:
    """Return the function with which tests run what the code returns as Python; empty where they do not.

    An ``eval`` is none, being held to arithmetic (``tests_process/guards/evaluation.py``), unless they call what it
    returns.
    """
    if runners := tests.modules & RUNNERS_OF_TEXT.keys() or tests.mentioned & UNSAFE_READERS:
        return RUNNERS_OF_TEXT.get(min(runners), min(runners))
    calls = [node for node in tests.nodes if isinstance(node, ast.Call)]
    called = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    of_functions = {id(call.func) for call in calls}
    of_functions |= {
        id(node.value)
        for node in tests.nodes
        if isinstance(node, ast.Assign) and {getattr(target, "id", "") for target in node.targets} & called
    }
    for node in calls:
        name = str(getattr(node.func, "id", ""))
        runs = name in ("exec", "compile") or (name == "eval" and id(node) in of_functions)
        if runs and name in tests.asked:
            inside = [inner for part in node.args[:1] for inner in ast.walk(part) if isinstance(inner, ast.Call)]
            if {source.function(call) for call in inside} & (tests.free | tests.of_solution | {"candidate"}):
                return name
    return ""


def lost_comparison(tests: Tests) -> str:
    """Return a comparison of results of which tests make nothing; empty where there is none.

    In a ``with`` or a ``try`` that it raises may be what is tested.
    """
    called = {source.function(node) for node in tests.nodes if isinstance(node, ast.Call)}
    waiting: list[tuple[ast.AST, bool]] = [(tests.tree, False)]
    while waiting:
        node, is_test = waiting.pop()
        if isinstance(node, (ast.With, ast.AsyncWith, ast.Try, ast.expr)):
            continue
        if isinstance(node, Function):
            is_test = node.name.startswith("test") and node.name not in called
        value = node.value if isinstance(node, ast.Expr) or (is_test and isinstance(node, ast.Return)) else None
        if isinstance(value, ast.Compare) and any(isinstance(inner, ast.Call) for inner in ast.walk(value)):
            return ast.unparse(value)[:80]
        waiting += [(inner, is_test) for inner in ast.iter_child_nodes(node)]
    return ""


def _of_call(node: ast.Call) -> str:
    name, arguments = source.function(node), node.args
    if name in ("getattr", "hasattr") and len(arguments) > 1:
        attribute = str(getattr(arguments[1], "value", ""))
        return attribute if attribute in OF_FUNCTIONS | OF_CLASSES else ""
    if name == "catch_warnings":
        return "warnings" if any(keyword.arg == "record" for keyword in node.keywords) else ""
    return "dir()" if getattr(node.func, "id", "") == "dir" else ""


def _of_class(node: ast.Call, asked: set[str]) -> str:
    """Return what a call asks of a class of the code's beside classes that its stand-in is not derived from."""
    names = [getattr(argument, "id", "") for argument in node.args]
    if source.function(node) == "vars" and names and names[0][:1].isupper() and names[0] in asked:
        return f"vars({names[0]})"
    if source.function(node) != "issubclass" or len(node.args) != 2 or names[0] not in asked:
        return ""
    parents = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    others = (parent for parent in parents if getattr(parent, "id", "") not in asked | KNOWN_CLASSES)
    return next((f"issubclass({names[0]}, {ast.unparse(other)})" for other in others), "")


def _inspects(module: str, name: str) -> bool:
    return module == "inspect" or name in INSPECTORS.get(module, ())


def fault(tests: Tests) -> str:
    """Return why tests cannot test any code here, in one line; empty where they can as far as the source shows."""
    tree = tests.tree
    if not any(is_check(node) or may_raise(node) for node in ast.walk(tree)):
        return "the tests check nothing: no assert, no assertion of unittest or pytest"
    if where := reach.unreached(tests):
        return f"the tests check {where}" if where.startswith("only ") else f"the tests check something {where}"
    if not instrument.has_checks(tree):
        return f"the tests check nothing: {_always_true(tree)}"
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


@lru_cache(maxsize=512)
def unanswerable(tests: str, setup: str) -> str:
    """Return why no score of tests' is to be believed, of right code or wrong; empty where it is."""
    row = Tests(tests, setup)
    if asked := introspection(row):
        return f"the tests ask for {asked}: they see values of the code, which runs elsewhere, not its source"
    if library := foreign(row):
        return f"the tests import {library}, whose objects do not cross between them and the code (numpy's arrays do)"
    if name := derived(row):
        return f"the tests derive a class from {name}, which is the code's, in a process of its own"
    if name := replaced(row):
        return f"the tests replace {name}, which the code, in a process of its own, does not see"
    if name := vacuous.lost_raise(row.tree):
        return f"the tests raise {name}, catch it, and make nothing of it"
    if function := evaluated(row):
        return (
            f"the tests run what the code returns as Python, with {function}(), and so the code decides their verdict"
        )
    if lost := vacuous.printed_comparison(row.tree, [node for node in ast.walk(row.tree) if is_check(node)]):
        return f"the tests compare and only print what comes of it, for want of an assert: {lost}"
    if lost := lost_comparison(row):
        return f"the tests compare and make nothing of it, for want of an assert: {lost}"
    return ""


def _always_true(tree: ast.Module) -> str:
    if any(map(vacuous.compares_nothing, ast.walk(tree))):
        return "in assertTrue(f(1), 2) the 2 is a message; assertEqual compares"
    return "what they assert is true whatever the code does, as (f(1) == 2, 'text') is"


def _runnable(tree: ast.Module, tests: Tests) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the test functions, and the methods of classes of pytest."""
    for node in tree.body:
        if isinstance(node, Function) and (node.name.startswith("test") or (tests.entry and node.name == "check")):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (
                statement
                for statement in node.body
                if isinstance(statement, Function) and statement.name.startswith("test")
            )


def _fixtures(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if node.name == "check" or node.decorator_list:  # parametrize, patch: known when it runs
        return ""
    args = node.args.args[: len(node.args.args) - len(node.args.defaults)]
    return next((argument.arg for argument in args if argument.arg not in ("self", "cls")), "")

"""The kinds of tests: asserts, test functions, unittest classes, programs with input and output."""

import ast
import builtins
import importlib
import io
import sys
import types
from typing import Any

from reward.sandbox.remote import CodeError, Link, Remote, Unsupported

TOOLS = {*dir(builtins), *sys.stdlib_module_names}


def run(job: dict[str, Any], link: Link) -> None:
    """Run the tests of ``job`` on its code; return if they pass.

    ``job`` has ``code`` and either ``tests`` (source), with ``entry_point`` where they define ``check(candidate)``,
    or ``inputs`` and ``outputs`` of a program.

    Raises:
        Exception: a test fails, or the code does.
    """
    if job.get("inputs") is not None:
        _programs(job, link)
    else:
        _tests(job, link)


def _programs(job: dict[str, Any], link: Link) -> None:
    for given, wanted in zip(job["inputs"], job["outputs"], strict=True):
        printed = link.value(link.ask("program", code=job["code"], stdin=given)["value"])
        if not isinstance(printed, str) or _lines(printed) != _lines(wanted):
            raise AssertionError("another output")


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _tests(job: dict[str, Any], link: Link) -> None:
    reply = link.ask("load", code=job["code"])
    defined = {str(name): link.value(value) for name, value in dict(reply["value"]).items()}
    for name, module in dict(reply["modules"]).items():
        if module in sys.stdlib_module_names:
            defined[str(name)] = importlib.import_module(module)
    entry = job.get("entry_point")
    if entry and not isinstance(defined.get(entry), Remote):
        raise CodeError(f"it does not define {entry}")
    for name in _impostors(defined, entry, job["tests"]):
        del defined[name]
    solution = types.ModuleType("solution")
    solution.__dict__.update(defined)
    sys.modules["solution"] = solution
    space: dict[str, Any] = {**defined, "candidate": defined.get(entry or ""), "__name__": "tests"}
    exec(compile(job.get("setup") or "", "setup.py", "exec"), space)
    space.update({name: value for name, value in defined.items() if _is_stub(space[name])})
    before = dict(space)
    exec(compile(job["tests"], "tests.py", "exec"), space)
    own = {name: value for name, value in space.items() if before.get(name) is not value}
    if entry and callable(own.get("check")):
        own["check"](defined[entry])
    _functions(own)


def _impostors(defined: dict[str, Any], entry: str | None, tests: str) -> list[str]:
    """Return names by which the code would take the place of what the tests measure with: ``abs``, ``math``.

    Such a name is the code's own where it is the one under test: the entry point, or all that the tests ask of it.
    """
    tools = {name for name, value in defined.items() if name in TOOLS and not isinstance(value, types.ModuleType)}
    tools.discard(entry or "")
    if not entry and not _asked(tests) & (defined.keys() - tools):
        return []
    return sorted(tools)


def _asked(tests: str) -> set[str]:
    """Return every name that the source of tests mentions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(tests)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found |= {each.name for each in node.names}
    return found


def _is_stub(value: Any) -> bool:
    """Whether the setup's value of a name gives way to the code's: what it defines does, what it imports does not."""
    return isinstance(value, Remote) or (isinstance(value, (type, types.FunctionType)) and value.__module__ == "tests")


def _functions(own: dict[str, Any]) -> None:
    """Run what a test runner would: ``test_*`` functions, and classes of unittest."""
    for name, value in own.items():
        if name.startswith("test_") and isinstance(value, types.FunctionType):
            value()
    if "unittest" not in sys.modules:
        return
    import unittest

    loader, suite = unittest.TestLoader(), unittest.TestSuite()
    for value in own.values():
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            suite.addTests(loader.loadTestsFromTestCase(value))
    unsupported: list[Unsupported] = []

    class Result(unittest.TextTestResult):
        def addError(self, test: Any, err: Any) -> None:
            if isinstance(err[1], Unsupported):  # by its type: the code writes messages as it likes
                unsupported.append(err[1])
            super().addError(test, err)

    runner = unittest.TextTestRunner(stream=io.StringIO(), failfast=True, resultclass=Result)  # type: ignore[arg-type]
    result = runner.run(suite)
    if unsupported:
        raise unsupported[0]
    if not result.wasSuccessful():
        raise AssertionError("a unittest fails")

"""Decoys: code of no use, by which it shows whether tests decide anything.

A decoy defines every name that the tests ask of the code, and returns objects of no use: of one decoy they are true,
equal where the same is asked again and else each another, with every attribute; of the other they are false, all equal,
and have the attributes that the tests read.
Tests that both of them pass decide nothing, whatever their source looks like. An honest check fails one of them at
least: ``f(1) == 2`` both, ``is_prime(7)`` the false one, ``not is_prime(8)`` the true one.
"""

import ast
import re
from functools import lru_cache
from typing import Any

from reward.rules.decoys import constants
from reward.rules.decoys.names import asked_names
from reward.sandbox import instrument, source, source_faults
from reward.sandbox.source import Tests
from reward.support.errors import GraderFailed

FAULT = "the tests decide nothing: functions that return objects of no use pass them"
UNCHECKED = "Unchecked"  # what the sandbox says where no check was reached
VAIN = (source_faults.NOTHING, *source_faults.IN_VAIN)  # what the sandbox says of such tests, whatever the code
# How coroutines are run by name; all else awaits them.
RUNNERS = {"run", "run_until_complete", "gather", "create_task", "ensure_future", "wait_for"}
TRUE = """
left = iter(range(5000))  # a loop over what follows what ends
class Thing:
    def __init__(self, *args, **kwargs): next(left)
    def __call__(self, *args, **kwargs): return asked(vars(self).get("key"), args, kwargs)
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return asked(vars(self).get("key"), name)
    def __eq__(self, other): return self is other or vars(self).get("key", self) == getattr(other, "key", other)
    def __le__(self, other): return self == other
    __ge__ = __le__
    __hash__ = object.__hash__
    def __enter__(self): return Thing()
    def __exit__(self, *error): return False
    def __await__(self):
        return Thing()
        yield
def asked(*of):
    thing = Thing()
    thing.key = repr(of)  # an object without a key has an address in it
    return thing
class Kind(type):
    def __getattr__(cls, name): return Thing.__getattr__(cls, name)
class Object(Thing, metaclass=Kind):
    __eq__, __hash__ = object.__eq__, object.__hash__
constant = "of no use"
"""
FALSE = """
class Thing(int):
    def __getattr__(self, name): return value(name)
def asked(*of): return Thing()
def value(name):
    if name not in READ: raise AttributeError(name)
    return later if name in AWAITED else nothing if name in CALLED else Thing()
def nothing(*args, **kwargs): return Thing()
async def later(*args, **kwargs): return Thing()
class Kind(type):
    def __getattr__(cls, name): return value(name)
class Object(metaclass=Kind):
    def __init__(self, *args, **kwargs): pass
    def __getattr__(self, name): return value(name)
    def __bool__(self): return False
    def __eq__(self, other): return isinstance(other, Object)
    def __hash__(self): return 0
    def __enter__(self): return self
    def __exit__(self, *error): return False
constant = 0
"""


def fault(job: dict[str, Any]) -> str:
    """Return why the tests of a job (``code_tests.job``) decide nothing; empty if they do, or cannot be run here."""
    if "tests" not in job:
        return ""
    return _fault(job["tests"], job["setup"], job["helpers"], job["entry_point"] or "")


@lru_cache(maxsize=512)
def _fault(tests: str, setup: str, helpers: str, entry: str) -> str:
    from reward.sandbox.run import run_tests

    row = Tests(tests, setup, helpers, entry)
    job = {"tests": tests, "setup": setup, "helpers": helpers, "entry_point": entry, "plan": instrument.plan(row)}
    try:
        results = [run_tests({"code": code, **job}) for code in decoys(row)]
        if all(result.passed or result.reason == UNCHECKED for result in results):
            return FAULT
        return constants.fault(row, job)
    except GraderFailed as error:
        return next((str(error)[str(error).index(mark) :] for mark in VAIN if mark in str(error)), "")


def decoys(tests: Tests) -> tuple[str, str]:
    """Return the two programs; their objects are true in the first, and false in the second."""
    calls = [node for node in tests.nodes if isinstance(node, ast.Call)]
    entry = re.findall(r"\w+", tests.entry)
    called = {source.function(call) for call in calls} | {*entry}
    handed = {node.id for call in calls for part in call.args for node in ast.walk(part) if isinstance(node, ast.Name)}
    named = [node.value for node in tests.nodes if isinstance(node, ast.Attribute) and node.attr == "__name__"]
    handed |= {str(getattr(attribute, "id", "")) for attribute in named}
    awaited = _awaited(tests)
    lines = []
    for name in asked_names(tests):
        if name in tests.classes or (name[0].isupper() and name in called):
            lines.append(f"class {name}(Object): pass")
        elif name in called | handed | awaited:
            head = f"{'async ' * (name in awaited)}def {name}(*args, **kwargs)"
            lines.append(f"{head}: return asked({name!r}, args, kwargs)")
        else:
            lines.append(f"{name} = constant")
    read = {node.attr for node in tests.nodes if isinstance(node, ast.Attribute)} | {*entry}
    sets = f"READ, CALLED, AWAITED = {sorted(read)!r}, {sorted(called)!r}, {sorted(awaited)!r}"
    return "\n".join([TRUE, *lines]), "\n".join([sets, FALSE, *lines])


def _awaited(tests: Tests) -> set[str]:
    """Return the functions whose results the tests await."""
    names: set[str] = set()
    for node in tests.nodes:
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
            names.add(source.function(node.value))
        elif isinstance(node, ast.Call) and source.function(node) in RUNNERS:
            inner = (child for part in node.args for child in ast.walk(part))
            names |= {source.function(child) for child in inner if isinstance(child, ast.Call)}
    return names

"""Tests in Python: asserts, ``check(candidate)``, test functions and classes as pytest has them, unittest.

They run in a module of their own, ``__main__``, with our built-ins. Of the code they see the names that they mention
and do not define, and a module ``solution``: stand-ins and plain data. A pass is a run in which the code was asked and
a check was reached and good; a test that skips because of what the code did is none.
"""

import ast
import atexit
import builtins
import contextlib
import importlib
import re
import sys
import types
from dataclasses import dataclass
from functools import partial
from typing import Any

from reward.sandbox import free_names, instrument, source, source_faults, wire
from reward.sandbox.objects import OBJECTS
from reward.sandbox.source import Tests
from reward.sandbox.tests_process.errors import CodeError, Unchecked, Unsupported
from reward.sandbox.tests_process.failures import Failures, Mapped, Paired, compare_by_order, count_check, over_items
from reward.sandbox.tests_process.guards import arrays, evaluation, tolerances
from reward.sandbox.tests_process.guards.equality import is_any_constant
from reward.sandbox.tests_process.guards.loops import Loops
from reward.sandbox.tests_process.mirror import Mirror
from reward.sandbox.tests_process.own_errors.blame import is_raised
from reward.sandbox.tests_process.remote import Link
from reward.sandbox.tests_process.runner import Runner, finish, is_skip
from reward.sandbox.tests_process.state import interpreter, randomness

# Names by which tests compare, where they do not import them: a library's, never the code's.
COMPARERS = {
    **dict.fromkeys(("isclose", "isnan", "fsum"), "math"),
    **dict.fromkeys(("allclose", "array_equal"), "numpy"),
    **dict.fromkeys(("assert_allclose", "assert_array_equal", "assert_almost_equal"), "numpy.testing"),
    **dict.fromkeys(("approx", "raises"), "pytest"),
}
TOOLS = {*dir(builtins), *sys.stdlib_module_names, *free_names.ALIASES, *COMPARERS, "pytest"}
METHOD = re.compile(r"(\w+)\(\)\.(\w+)")  # an entry point as LeetCode's data sets have it: Solution().solve


class Solution(types.ModuleType):
    """The module ``solution`` of the tests: names of the code's and nothing else of it; its variables as they are now.

    Args:
        name: of the module.
        variables: names of the code's whose values are plain data.
    """

    def __init__(self, name: str, variables: frozenset[str]) -> None:
        super().__init__(name)
        types.ModuleType.__setattr__(self, "__variables__", variables)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name not in types.ModuleType.__getattribute__(self, "__variables__"):
            return types.ModuleType.__getattribute__(self, name)
        assert OBJECTS.link is not None
        return OBJECTS.link.variables([name])[name]

    def __setattr__(self, name: str, value: Any) -> None:
        assert OBJECTS.link is not None
        raise OBJECTS.link.refuse("the tests set a name in the code's module")


@dataclass(frozen=True)
class Plan:
    """What is known of the tests (``instrument.plan``), and what runs before them."""

    mentioned: set[str]
    asked: set[str]
    of_solution: set[str]
    classes: set[str]
    fallbacks: set[str]
    called_at_top: set[str]
    modules: set[str]
    due: set[str]
    handed: set[str]
    own: set[str]
    placeholders: set[str]
    records: str
    run: str
    entry: str
    before: list[ast.stmt]

    @classmethod
    def of(cls, job: dict[str, Any]) -> "Plan":
        """Read the plan of a job."""
        texts = [job.get("helpers"), job.get("setup")]
        before = [node for text in texts if text for node in ast.parse(text).body]
        plan = job.get("plan") or instrument.plan(Tests(job["tests"], job.get("setup") or "", job.get("helpers") or ""))
        sets = {name: set(plan[name]) for name in instrument.SETS}
        return cls(
            **sets,
            due=set(plan["due"]),
            handed=set(plan["handed"]),
            own=set(plan["own"]),
            placeholders=set(plan["placeholders"]),
            records=plan["records"],
            run=plan["run"],
            entry=job.get("entry_point") or "",
            before=before,
        )


def run(job: dict[str, Any], link: Link) -> None:
    """Run the tests; return if they pass.

    Raises:
        Unsupported: they tested nothing.
        BaseException: a test fails.
    """
    plan = Plan.of(job)
    names, code = _load(plan, job, link)
    if plan.mentioned & randomness.NAMES:
        link.randomness = randomness.Randomness(numpy=bool({*plan.modules, *plan.asked} & {"np", "numpy"}))
    if plan.mentioned & interpreter.NAMES:
        link.interpreter = interpreter.InterpreterState()
    tolerances.guard_functions(plan.modules, plan.mentioned)
    checked: list[int] = []
    vacuous: list[int] = []
    entered: set[str] = set()
    failures, loops = Failures(link, plan.handed), Loops()
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    space = link.records.space = module.__dict__
    space.update({"__builtins__": builtins, instrument.ENTERED: entered.add})
    space[instrument.CHECKED] = partial(count_check, checked, vacuous, entered)
    space |= {instrument.OVER_ITEMS: partial(over_items, vacuous, loops), instrument.ORDERED: compare_by_order}
    space |= {instrument.FAILED: failures.note, instrument.HANDLED: failures.forget_handled}
    space |= {instrument.SWALLOWED: failures.forget_swallowed, instrument.LOOPED: loops.note}
    space.update({name: value for name, value in code.items() if name in plan.asked})
    if "*" not in plan.of_solution:
        link.bind_variables(sorted(name for name in plan.asked & code.keys() & names if _is_plain(code[name])))
    _libraries(plan.asked - free_names.BUILTINS - code.keys(), space)
    _solution(code, space, plan)  # the setup may import from it
    if plan.before:
        ours = [node for node in plan.before if _is_ours(node, plan, code)]
        _execute(compile(instrument.ordered(ast.Module(ours, [])), "setup.py", "exec"), space)
    _solution(code, space, plan)
    if (candidate := _candidate(plan, code)) is not None:
        space["candidate"] = candidate
    _guard_values(plan, job, link)
    present = dict(space)
    _without_runners(plan, failures)
    if "threading" in plan.modules | plan.asked:
        threading: Any = importlib.import_module("threading")
        threading.excepthook = failures.note_of_thread
    _execute(compile(plan.run, "tests.py", "exec"), space)
    defined = {name: value for name, value in space.items() if present.get(name) is not value}
    if plan.entry and callable(defined.get("check")) and "check" not in plan.called_at_top:
        finish(defined["check"](candidate))
    Runner(link).run(defined.values())
    _join_threads()
    if "atexit" in plan.modules:
        atexit._run_exitfuncs()
    if failures or is_any_constant():
        raise AssertionError("a check failed, and the tests went on")
    if waiting := sorted(plan.due - entered):
        raise Unsupported(f"the tests check something in {waiting[0]}, which nothing runs to its checks")
    if any(is_raised(error, plan.run) for error in link.given.tried()):
        raise Unsupported("the code tries values on a function of the tests that refuses all but one by an error")
    _verify(link, plan, job, len(checked), names, code)
    link.empty_loops |= loops.is_any_empty()


def _guard_values(plan: Plan, job: dict[str, Any], link: Link) -> None:
    """Have libraries of the tests' own be careful with what the code returned."""
    space = link.records.space
    sources = [job["tests"], job.get("setup") or "", job.get("helpers") or ""]
    if plan.mentioned & {"eval", "exec", "compile"}:
        guards = evaluation.guards(link, sources)
        space.update({name: guards[name] for name in guards.keys() & plan.asked - space.keys()})
        if "builtins" in plan.modules:
            vars(builtins).update(guards)
    pairing = {"zip": Paired, "map": Mapped}
    space.update({name: pairing[name] for name in pairing.keys() & plan.asked - space.keys()})
    evaluation.restrict_files_and_pickles(link)
    if any(name.split(".")[0] in ("np", "numpy") for name in plan.modules | plan.asked):
        arrays.guard_functions()


def _verify(link: Link, plan: Plan, job: dict[str, Any], checks: int, names: set[str], code: dict[str, Any]) -> None:
    """Refuse a pass of tests that tested nothing."""
    # A class is asked nothing by ``issubclass``, which its stand-in answers.
    constants = {
        name
        for name in plan.asked & code.keys()
        if OBJECTS.number(code[name]) is None or isinstance(code[name], Mirror)
    }
    if checks and (link.asked or constants):
        return
    if reason := source_faults.fault(Tests(job["tests"], job.get("setup") or "", job.get("helpers") or "", plan.entry)):
        raise Unsupported(reason)
    if link.asked or (plan.asked - free_names.BUILTINS | plan.of_solution) - names - {"solution", "*"}:
        raise Unchecked("no check of the tests was reached")
    raise Unsupported(source_faults.NOTHING)


def _load(plan: Plan, job: dict[str, Any], link: Link) -> tuple[set[str], dict[str, Any]]:
    """Load the code, and with it the classes of records that tests share; return its names and what they may use."""
    records = [ast.unparse(node) for node in plan.before if source.is_record(node)] + [plan.records] * bool(
        plan.records
    )
    link.records.names = {
        node.name for text in records for node in ast.parse(text).body if isinstance(node, ast.ClassDef)
    }
    given = {"records_source": "\n".join(records), "record_names": sorted(link.records.names)}
    reply = link.ask("load", code=job["code"], **given)
    names, modules = reply.get("names"), reply.get("modules")
    if type(names) is not list or type(modules) is not dict:
        raise CodeError("no answer")
    defined = {name for name in names if wire.is_name(name)}
    link.defined = frozenset(defined)
    entry = METHOD.sub(r"\1", plan.entry)
    if entry and entry not in defined:
        raise CodeError(f"it does not define {entry}")
    everything = "*" in plan.of_solution or "solution" in plan.of_solution
    wanted = defined if everything else defined & (plan.mentioned | {entry})
    wanted -= _impostors(wanted, plan, entry) | ((plan.fallbacks | link.records.names) - {entry})
    wanted -= {*job.get("withheld", ())}
    values = link.globals(reply, wanted)
    _trust(plan, values)
    for name, library in modules.items():
        if (
            wire.is_name(name)
            and name in (plan.asked - free_names.BUILTINS)
            and type(library) is str
            and free_names.is_library(library)
        ):
            values.setdefault(name, importlib.import_module(library))
    return defined, values


def _trust(plan: Plan, values: dict[str, Any]) -> None:
    """Note the classes of the code's that the tests name as such."""
    for name, value in values.items():
        if isinstance(value, Mirror) and (name in plan.classes or name[0].isupper()):
            OBJECTS.trusted.add(id(value))
            if name in plan.classes:
                OBJECTS.used.add(id(value))


def _impostors(names: set[str], plan: Plan, entry: str) -> set[str]:
    """Return names by which the code would take the place of what the tests measure with: ``abs``, ``math``.

    Such a name is the code's own where it is the one under test: the entry point, or all that the tests ask of it.
    """
    tools = (names & TOOLS) - {entry}
    return tools if entry or (names - tools) & (plan.asked | plan.of_solution) else set()


def _is_ours(node: ast.stmt, plan: Plan, code: dict[str, Any]) -> bool:
    """Whether a statement of the setup runs: what the code is to write gives way to it, all else is ours."""
    if not isinstance(node, (*source.Function, ast.ClassDef)) or node.name not in code:
        return True
    return node.name != plan.entry and not source.is_stub(node)


def _join_threads() -> None:
    """Wait for threads that the tests have left, as the interpreter does at its end."""
    threading: Any = sys.modules.get("threading")
    for thread in threading.enumerate() if threading else ():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _libraries(missing: set[str], space: dict[str, Any]) -> None:
    """Import what the tests use without importing it."""
    for name in missing:
        library = free_names.ALIASES.get(name, name)
        if name in COMPARERS:
            with contextlib.suppress(ImportError):
                space[name] = getattr(importlib.import_module(COMPARERS[name]), name)
        elif free_names.is_library(library) and (library in sys.stdlib_module_names or library == "numpy"):
            space[name] = importlib.import_module(library)


def _solution(code: dict[str, Any], space: dict[str, Any], plan: Plan) -> None:
    """Make the module that the tests may import; what the setup defines there is the setup's."""
    of_setup = {node.name for node in plan.before if isinstance(node, (*source.Function, ast.ClassDef))}
    own = plan.own - plan.of_solution - {plan.entry}
    theirs = {name: value for name, value in code.items() if name not in own}
    of_setup &= space.keys()
    plain = {name for name, value in theirs.items() if name not in of_setup and _is_plain(value)}
    module = Solution("solution", frozenset(plain))
    module.__dict__.update(theirs | {name: space[name] for name in of_setup})
    sys.modules["solution"] = module


def _is_plain(value: Any) -> bool:
    return OBJECTS.number(value) is None and not callable(value) and not isinstance(value, types.ModuleType)


def _candidate(plan: Plan, code: dict[str, Any]) -> Any:
    method = METHOD.fullmatch(plan.entry)
    if method is None:
        return code.get(plan.entry)
    assert OBJECTS.link is not None
    return OBJECTS.link.operate("attribute", (code[method[1]](), method[2]), {})


def _without_runners(plan: Plan, failures: Failures) -> None:
    """Let ``unittest.main()`` and ``pytest.main()`` return: what they would run is run here.

    Other runners of unittest's do run, and return a result that the tests may not look at.
    """
    for name in {"unittest", "pytest"} & plan.modules:
        library: Any = importlib.import_module(name)
        library.main = lambda *_, **__: None
        if name == "unittest":
            for method in ("addFailure", "addError"):
                setattr(library.TestResult, method, failures.noting(getattr(library.TestResult, method)))


def _execute(code: types.CodeType, space: dict[str, Any]) -> None:
    """Run statements; ``sys.exit(0)`` of the tests' own ends them."""
    try:
        exec(code, space)
    except SystemExit as stop:
        assert OBJECTS.link is not None
        if stop.code not in (None, 0) or OBJECTS.link.errors:  # type: ignore[attr-defined]
            raise AssertionError("the tests exit with an error") from None
    except BaseException as error:
        if is_skip(error):
            raise Unsupported(f"the tests skip all: {error}") from None
        raise

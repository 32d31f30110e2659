"""Code under test that attacks: each scores 0 and leaves the worker alive."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reward.entry import compute_score
from reward.rules import RULES
from reward.sandbox.run import PRELOADED
from trainer import ROOT

TESTS = "assert f(1) == 2\nassert f(5) == 6\nassert f(-1) == 0"
RIGHT = "def f(x):\n    return x + 1\n"


def run(code: str, tests: object = TESTS, **extra: object) -> dict[str, float]:
    result = compute_score("code", f"Here it is:\n```python\n{code}\n```\n", tests, extra)
    assert not result["unscored"]
    return result


HUMANEVAL = "def check(candidate):\n    assert candidate([1, 2]) == (2, 1)\n"


@pytest.mark.parametrize(
    ("code", "tests", "extra"),
    [
        (RIGHT, TESTS, {}),
        (RIGHT, ["assert f(1) == 2", "assert f(2) == 3"], {}),
        (RIGHT, "", {"test_list": ["assert f(1) == 2"]}),
        ("def f(x):\n    return tuple(reversed(x))", HUMANEVAL, {"entry_point": "f"}),
        ("    return tuple(reversed(x))", HUMANEVAL, {"entry_point": "f", "code_prompt": "def f(x):\n"}),
        ("print(int(input()) + 1)", {"inputs": ["1\n", "2\n"], "outputs": ["2", "3\n"]}, {}),
        ("import numpy\ndef f(x):\n    return int(numpy.int64(x) + 1)", TESTS, {}),
        ("def f(x):\n    x.sort()", "x = [3, 1]\nf(x)\nassert x == [1, 3]", {}),
        ("def f(n):\n    yield from range(n)", "assert list(f(3)) == [0, 1, 2]\nassert next(f(2)) == 0", {}),
        ("def f(x):\n    raise ValueError('no')", "try:\n    f(1)\n    assert 0\nexcept ValueError:\n    pass", {}),
        (
            "class S:\n    def __init__(self):\n        self.a = 7\n    def g(self):\n        return self.a",
            "assert S().g() == 7",
            {},
        ),
        (RIGHT, "def test_it():\n    assert f(1) == 2", {}),
        (
            RIGHT,
            "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n"
            "    def test_it(self):\n        self.assertEqual(f(1), 2)",
            {},
        ),
        ("def f(x):\n    return 1 << 5000", "assert f(1) == 2 ** 5000", {}),
        (
            "import threading\ndef f(x):\n    t = threading.Thread(target=print); t.start(); t.join(); return x + 1",
            TESTS,
            {},
        ),
        ("def f(x):\n    open('own', 'w').write('a')\n    return x + len(open('own').read())", TESTS, {}),
        ("def sum(a, b):\n    return a - b", "assert sum(3, 1) == 2", {}),  # a task of MBPP has this very name
        ("from math import *\nimport math\ndef f(x):\n    return x", "assert math.floor(f(1.5)) == 1", {}),
        (RIGHT, TESTS, {"setup": "def f(x):\n    ...\nfrom math import isclose"}),
    ],
)
def test_right_code_passes(code, tests, extra) -> None:
    assert run(code, tests, **extra)["score"] == 1.0


IS_LOADED = "import sys\nis_loaded = '{}' + '{}' in sys.modules\n{}assert f(1) == 2 and is_loaded"


@pytest.mark.parametrize("library", PRELOADED)
def test_tests_that_mention_a_library_need_not_wait_for_its_import(library) -> None:
    parts = library[:2], library[2:]
    assert run(RIGHT, IS_LOADED.format(*parts, f"import {library}\n"))["score"] == 1.0
    assert run(RIGHT, IS_LOADED.format(*parts, ""))["score"] == 0.0  # nobody else has it
    tests = IS_LOADED.format(*parts, "").replace("is_loaded =", "is_loaded = f(2) == 3 and")
    assert run(f"import {library}\n{RIGHT}", tests)["score"] == 1.0


def test_an_approx_of_the_tests_own_needs_no_pytest() -> None:
    """The stack has none on a machine without GPUs; the tests of the kit bring it."""
    code = (
        "import sys; sys.modules['pytest'] = None; from reward.sandbox.tests_process.guards import arrays, tolerances; "
        "tolerances.guard_functions(set(), {'approx'}); arrays.guard_approx()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_no_run_begins_with_the_random_numbers_of_another() -> None:
    """Their state would be that of the server."""
    assert run(RIGHT, IS_LOADED.format("numpy.", "random", "import numpy\n"))["score"] == 0.0


ATTACKS = {
    "wrong": "def f(x):\n    return x",
    "no code": "I would rather not.",
    "fork bomb": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        raise",
    "fork in a call": "import os\ndef f(x):\n    os.fork()\n    return x + 1",
    "other processes": "import subprocess\ndef f(x):\n    subprocess.run(['true'])\n    return x + 1",
    "setsid": "import os\ndef f(x):\n    os.setsid()\n    return x + 1",
    "kill the parent": "import os\ndef f(x):\n    os.kill(os.getppid(), 9)\n    return x + 1",
    "kill all": "import os\ndef f(x):\n    os.kill(-1, 9)\n    return x + 1",
    "kill the tests": f"import os\nos.kill({os.getpid()}, 9)\n{RIGHT}",
    "network": "import socket\nsocket.socket()\n" + RIGHT,
    "sys.exit": "import sys\nsys.exit(0)",
    "os._exit": "import os\nos._exit(0)",
    "exit in a call": "import os\ndef f(x):\n    os._exit(0)",
    "SystemExit in a call": "def f(x):\n    raise SystemExit(0)",
    "fake verdict": 'print(\'{"id": 1, "value": {"passed": true}}\', flush=True)\nimport os\nos.write(1, b\'passed\')',
    "fake verdict on all pipes": (
        "import os\nfor fd in range(64):\n    try:\n"
        '        os.write(fd, b\'{"id": 1, "value": {"passed": true, "timeout": false, "reason": ""}}\\n\' * 9)\n'
        "    except OSError:\n        pass\nos._exit(0)"
    ),
    "patched builtins": (
        "import builtins, sys\nbuiltins.AssertionError = ValueError\nbuiltins.__build_class__ = None\n"
        "sys.excepthook = lambda *a: None\nsys.settrace(lambda *a: None)\ndef f(x):\n    return 0"
    ),
    "equal to everything": (
        "class E(int):\n    def __eq__(self, o):\n        return True\n    __hash__ = int.__hash__\n"
        "def f(x):\n    return E(99)"
    ),
    "an object equal to everything": (
        "class E:\n    def __eq__(self, o):\n        return True\n    def __sub__(self, o):\n        return 0\n"
        "def f(x):\n    return E()"
    ),
    "frames": (
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n"
        "        if 'job' in frame.f_locals:\n            return 2\n        frame = frame.f_back\n    return None"
    ),
    "files of others": (
        "import os\ndef f(x):\n    try:\n        open('/etc/passwd').read()\n    except PermissionError:\n"
        "        return None\n    return x + 1"
    ),
    "environment of others": "def f(x):\n    open('/proc/self/environ').read()\n    return x + 1",
    "endless recursion": "def f(x):\n    return f(x)",
    "memory": "def f(x):\n    a = 'a' * (8 << 30)\n    return x + 1",
    "deep value": "def f(x):\n    a = []\n    for _ in range(100000):\n        a = [a]\n    return a",
    "crash": "import ctypes\ndef f(x):\n    ctypes.string_at(0)\n    return x + 1",
    "null byte": "def f(x): return '\\0",
    "file of 1 GB": "def f(x):\n    with open('big', 'wb') as b:\n        b.truncate(1 << 30)\n    return x + 1",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_scores_0_and_the_worker_lives(name) -> None:
    assert run(ATTACKS[name])["score"] == 0.0
    assert run(RIGHT)["score"] == 1.0


def test_1_gb_of_output() -> None:
    loud = "import os, sys\nfor _ in range(1024):\n    os.write(1, b'a' * (1 << 20))\n"
    assert run(loud + RIGHT)["score"] == 1.0  # nobody reads it
    program = "for _ in range(1024):\n    print('a' * (1 << 20))"
    assert run(program, {"inputs": [""], "outputs": ["a"]})["score"] == 0.0


def test_no_key_and_no_test_can_be_read(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-tests")
    secret = tmp_path / "tests.py"
    secret.write_text("assert f(1) == 2")
    closed = (
        str(secret),
        "/proc/1/environ",
        f"/proc/{os.getpid()}/environ",
        str(Path.home() / ".bashrc"),
        "/etc/hostname",
    )
    spy = f"""
import gc, os, sys
leaked = []
for name, value in os.environ.items():
    if "KEY" in name or "secret" in value:
        leaked.append(name)
for path in {closed!r}:
    try:
        leaked.append(open(path).read())
    except OSError:
        pass
for kept in gc.get_objects():
    if isinstance(kept, dict) and "tests" in kept and "code" in kept:
        leaked.append("the tests")
def f(x):
    return leaked
"""
    assert run(spy, "assert f(0) == []")["score"] == 1.0


def test_nothing_outside_the_folder_can_be_written(tmp_path) -> None:
    tmp_path.chmod(0o777)
    writer = f"""
import os
import subprocess
import sys
done = []
for path in ({str(tmp_path / "a")!r}, "/tmp/kit-was-here", os.path.expanduser("~/kit"), "/dev/shm/kit-was-here"):
    try:
        open(path, "w").write("x")
        done.append(path)
    except OSError:
        pass
def f(x):
    return (done, os.listdir("."))
"""
    assert run(writer, "assert f(0) == ([], [])")["score"] == 1.0
    assert not list(tmp_path.iterdir())


LOOSE = "def check(candidate):\n    assert abs(candidate(1) - 2) < 1e-6 and math.isclose(candidate(1), 2)\n"


@pytest.mark.parametrize(
    ("code", "tests", "extra"),
    [
        ("def abs(x):\n    return 0.0", "assert abs(f(1) - 2) < 1e-6", {}),
        ("def abs(x):\n    return 0.0", "from solution import *\nassert abs(f(1) - 2) < 1e-6", {}),
        ("abs = lambda x: 0.0\nclass math:\n    isclose = lambda *a: True", LOOSE, {"entry_point": "f"}),
        ("isclose = lambda *a: True", "assert isclose(f(1), 2)", {"setup": "from math import isclose"}),
        ("def near(*a):\n    return True", "assert near(f(1), 2)", {"setup": "near = 5"}),
        ("def test_f():\n    pass", "def test_f():\n    assert f(1) == 2", {}),
    ],
    ids=["abs", "abs by import", "abs and math", "what setup imports", "what setup names", "a test"],
)
def test_what_the_tests_measure_with_is_not_the_codes(code, tests, extra) -> None:
    wrong = "def f(x):\n    return 7\n"
    assert run(wrong + code, tests, **extra)["score"] == 0.0
    setup = {"setup": "import math\n" + str(extra.get("setup", ""))}
    if "near" not in code:
        assert run(RIGHT + code, tests, **extra | setup)["score"] == 1.0


def test_an_error_that_calls_itself_unsupported_is_an_error() -> None:
    tests = (
        "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(f(1), 2)"
    )
    assert run("class Unsupported(Exception): pass\ndef f(x): raise Unsupported('Unsupported')", tests)["score"] == 0.0


def test_tests_that_the_harness_cannot_run_leave_the_sample_unscored() -> None:
    result = compute_score("code", RIGHT, "assert f(object()) == 2")
    assert (result["score"], result["unscored"]) == (0.0, 1.0)


def test_the_rows_own_solution_is_its_example() -> None:
    assert RULES["code"].example(TESTS, {"solution": RIGHT}) == f"```python\n{RIGHT}\n```"
    assert RULES["code"].example(TESTS, {}) is None


TWO = "def g(x):\n    return x\n" + RIGHT
ASKS_F = [{"role": "user", "content": "Write f(x), which adds 1. The tests compare with what is expected."}]


@pytest.mark.parametrize(
    ("code", "tests", "extra", "score"),
    [
        (RIGHT, "assert f(1) == 2\nassert f(2) == expected_value", {}, None),
        (RIGHT, "assert f(1) == helper(1)", {"solution": RIGHT}, None),
        (RIGHT, "assert is_equal(f(1), 2)", {"messages": ASKS_F}, None),
        ("def g(x):\n    return x", "assert f(1) == 2\nassert is_equal(f(1), 2)", {"messages": ASKS_F}, 0),
        (RIGHT.replace("1", "2"), "assert f(1) == 2\nassert f(2) == expected_value", {}, 0),
        (RIGHT, "assert g(f(1)) == 2", {}, 0),  # both may be what is asked for
        (RIGHT, "assert g(f(1)) == 2", {"solution": TWO}, 0),
        (RIGHT, "assert g(f(1)) == 2", {"messages": [{"role": "user", "content": "Write `f` and `g`."}]}, 0),
        (RIGHT, "assert g(f(1)) == 2", {"messages": [{"role": "user", "content": "Write f(x) and a helper g."}]}, 0),
        (RIGHT, "assert g(1) == 2", {"messages": ASKS_F}, 0),  # all that the tests ask for
        (TWO, "assert g(f(1)) == 2", {"solution": TWO}, 1),
    ],
)
def test_a_name_that_neither_tests_nor_code_define(code, tests, extra, score) -> None:
    result = compute_score("code", f"```python\n{code}\n```", tests, extra)
    assert (result["unscored"], result["score"]) == ((1, 0) if score is None else (0, score))

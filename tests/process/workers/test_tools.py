"""Tools in processes of their own: loaded, called, and what becomes of calls that go wrong."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from environments.tools.calls import Call
from environments.tools.load import load
from environments.tools.spec import ToolsSpec
from environments.tools.toolbox import Toolboxes

T = TypeVar("T")
MINE = '''
"""Tools."""
import os
import sys
import time

kept = []


def note(text: str) -> list[str]:
    """Keep a text, and return all of them.

    Args:
        text: what is kept
    """
    kept.append(text)
    return kept


def wait(seconds: float) -> str:
    """Wait.

    Args:
        seconds: how long
    """
    time.sleep(seconds)
    return "done"


def fail(how: str, times: int = 1) -> str:
    """Fail.

    Args:
        how: the way
        times: how often
    """
    if how == "exit":
        sys.exit("enough")
    if how == "die":
        os._exit(3)
    if how == "surrogate":
        return "\\ud800"
    if how == "long":
        return "x" * 10_000
    raise RuntimeError(f"no more tea\\x1b[31m {times}")


def _hidden() -> None:
    """No tool."""
'''


@pytest.fixture(scope="module")
def spec(tmp_path_factory) -> ToolsSpec:
    folder = tmp_path_factory.mktemp("tools")
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    return ToolsSpec((f"{folder}/mine.py", "calculator", "python"), max_calls=6, timeout=10.0, max_answer=100)


def use(spec: ToolsSpec, work: Callable[[Toolboxes], Awaitable[T]]) -> T:
    async def used() -> T:
        boxes = Toolboxes(spec)
        try:
            return await work(boxes)
        finally:
            await boxes.shutdown()

    return asyncio.run(used())


def call(name: str, **arguments: object) -> Call:
    return Call(name, json.dumps(arguments))


def test_a_state_lives_for_an_episode(spec: ToolsSpec) -> None:
    async def work(boxes: Toolboxes) -> list[list[str]]:
        first = await boxes.call("a", [call("note", text="1"), call("note", text="2")])
        other = await boxes.call("b", [call("note", text="3")])
        again = await boxes.call("a", [call("note", text="4")])
        await boxes.close("a")
        anew = await boxes.call("a", [call("note", text="5")])
        return [first, other, again, anew]

    assert use(spec, work) == [['["1"]', '["1", "2"]'], ['["3"]'], ['["1", "2", "4"]'], ['["5"]']]


ANSWERS = [
    (call("calculate", expression="48213 + 90345"), "138558"),
    (call("calculate", expression="2/3"), "0.6666666666666666"),
    (call("calculate", expression="0.1+0.2"), "0.3"),
    (call("calculate", expression="__import__('os').getcwd()"), "Error: ValueError: not an expression"),
    (call("calculate", expression="9**9**9"), "Error: ValueError: not an expression"),
    (call("calculate", expression="1/0"), "Error: ValueError: division by zero"),
    (call("calculate", expression="1e-3+2E2"), "200.001"),
    (call("calculate", expression="1e999999999"), "Error: ValueError: a number has 400 digits before and behind"),
    (call("calculate", expression="0*1e-9_99999999"), "Error: ValueError: a number has 400 digits before and behind"),
    (call("calculate", expression="*".join(["9e400"] * 33)), "Error: ValueError: "),
    (call("calculate", expression="-" * 199 + "1"), "-1"),
    (call("calculate", expression="(" * 150), "Error: ValueError: not an expression"),
    (call("calculate", expression="1" * 300), "Error: ValueError: an expression has 200 characters at most"),
    (call("calculate", expression=12), "Error: calculate: expression: 12 is not of type 'string'"),
    (call("calculate"), "Error: calculate: 'expression' is a required property"),
    (call("calculate", expression="1", more=2), "Error: calculate: Additional properties are not allowed"),
    (Call("calculate", "[1]"), "Error: calculate: [1] is not of type 'object'"),
    (Call("calculate", "{'a': 1}"), "Error: the arguments of calculate are no JSON"),
    (Call("calculate", "[" * 100_000), "Error: the arguments of calculate are no JSON"),
    (call("_hidden"), "Error: there is no tool _hidden; there are: note, wait, fail, calculate, python"),
    (call("fail", how="raise"), "Error: RuntimeError: no more tea\\x1b[31m 1"),
    (call("fail", how="exit"), "Error: "),
    (call("fail", how="die"), "Error: its process has ended"),
    (call("fail", how="surrogate"), "?"),
    (call("fail", how="long"), "x" * 100 + "... (10,000 characters)"),
    (call("wait", seconds=60), "Error: a call takes more than 10 s (--tool_timeout)"),
    (call("python", code="x = 20\nprint('a')\nx + 1"), "a\n21"),
    (call("python", code="import sympy\nsympy.factor('x**2-1')"), "(x - 1)*(x + 1)"),
    (call("python", code="print('a')\n1/0"), "Error: ZeroDivisionError: division by zero (line 2: 1/0)\na"),
    (call("python", code="def f(:"), "Error: SyntaxError: invalid syntax (line 1: def f(:)"),
    (call("python", code="exit()"), "Error: SystemExit (line 1: exit())"),
    (call("python", code="while True: pass"), "Error: a call takes more than 10 s (--tool_timeout)"),
    (call("python", code="import os\nos._exit(0)"), "Error: the interpreter has ended, and what was defined is gone"),
    (call("python", code="import os\nos.write(4, b'[1]\\n')"), "Error: the interpreter has ended"),
    (call("python", code="import os\nos.write(4, b'[' * 100_000)"), "Error: the interpreter has ended"),
    (call("python", code="import os\nos.close(3)\nos.close(4)"), "Error: the interpreter has ended"),
    (call("python", code="print(end='x' * 10**7)"), "x" * 100 + "... (65,536 characters)"),
    (call("python", code="class E(Exception):\n    __str__ = None\nraise E"), "Error: an error that cannot be shown"),
    (call("python", code="'\\ud800\\x1b'"), "'\\ud800\\x1b'"),
]


@pytest.fixture(scope="module")
def answered(spec: ToolsSpec) -> list[tuple[str, str]]:
    """Of each call its answer, and that of another call after it."""

    async def work(boxes: Toolboxes) -> list[tuple[str, str]]:
        async def both(name: str, asked: Call) -> tuple[str, str]:
            (first,) = await boxes.call(name, [asked])
            (next_one,) = await boxes.call(name, [call("note", text="on")])
            return first, next_one

        return list(await asyncio.gather(*(both(str(place), asked) for place, (asked, _) in enumerate(ANSWERS))))

    return use(spec, work)


@pytest.mark.parametrize("place", range(len(ANSWERS)), ids=lambda place: f"{place} {ANSWERS[place][1][:40]}")
def test_a_call_is_answered_whatever_becomes_of_it(answered: list[tuple[str, str]], place: int) -> None:
    first, next_one = answered[place]
    assert first.startswith(ANSWERS[place][1]) and "\x1b" not in first
    assert next_one == '["on"]'


def test_calls_have_a_number(spec: ToolsSpec) -> None:
    async def work(boxes: Toolboxes) -> list[str]:
        return [
            *await boxes.call("a", [call("calculate", expression="1")] * 5),
            *await boxes.call("a", [call("x")] * 3),
        ]

    answers = use(spec, work)
    assert answers[:5] == ["1"] * 5 and answers[5].startswith("Error: there is no tool")
    assert answers[6:] == ["Error: no more calls: the limit is 6"] * 2


def test_the_calculator_needs_no_process(spec: ToolsSpec) -> None:
    """Nor does a call of a tool that is not there, where it is the only one."""

    async def work(boxes: Toolboxes) -> tuple[list[str], list[psutil.Process]]:
        answers = await boxes.call("a", [call("calculate", expression="2*3"), call("calculate", expression="2/0")])
        return answers, psutil.Process().children()

    before = psutil.Process().children()
    assert use(spec, work) == (["6", "Error: ValueError: division by zero"], before)
    alone = ToolsSpec(("calculator",))
    answers, children = use(alone, lambda boxes: asyncio.gather(boxes.call("a", [call("x")]), children_now()))
    assert answers == ["Error: there is no tool x; there are: calculate"] and children == before


async def children_now() -> list[psutil.Process]:
    return psutil.Process().children()


def test_a_process_that_is_told_the_schemas_makes_none(tmp_path: Path) -> None:
    """Torch and transformers, which make them, would be in every fork of an episode."""
    text = "import sys\ndef loaded() -> bool:\n    'Tell.'\n    return {'torch', 'transformers'} <= {*sys.modules}\n"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    source = f"{tmp_path}/mine.py"
    told = tuple(tool.schema for tool in load([source]).values())
    for schemas, expected in (((), ["true"]), (told, ["false"]), (told * 1000, ["true"])):
        spec = ToolsSpec.from_json(ToolsSpec((source,), schemas=schemas).to_json())
        assert use(spec, lambda boxes: boxes.call("a", [call("loaded")])) == expected


def test_a_slow_call_holds_up_no_other_episode(spec: ToolsSpec) -> None:
    async def work(boxes: Toolboxes) -> float:
        await asyncio.gather(*(boxes.start(name) for name in ("slow", "quick")))
        slow = asyncio.create_task(boxes.call("slow", [call("wait", seconds=60)]))
        start = time.monotonic()
        await boxes.call("quick", [call("note", text="1")])
        seconds = time.monotonic() - start
        slow.cancel()
        return seconds

    assert use(spec, work) < 2.5


def python(code: str) -> Call:
    return call("python", code=code)


def test_what_code_defines_lives_for_an_episode(spec: ToolsSpec) -> None:
    async def work(boxes: Toolboxes) -> list[list[str]]:
        await boxes.call("a", [python("def double(x):\n    return 2 * x"), python("open('f', 'w').write('kept')")])
        await boxes.call("b", [python("double = 5")])
        return [
            await boxes.call("a", [python("double(21)"), python("open('f').read()")]),
            await boxes.call("b", [python("double"), python("import os\nos.listdir()")]),
        ]

    assert use(spec, work) == [["42", "'kept'"], ["5", "[]"]]


def test_an_error_names_the_line_of_the_call_it_happened_in(spec: ToolsSpec) -> None:
    async def work(boxes: Toolboxes) -> list[list[str]]:
        await boxes.call("a", [python("def f():\n    x = 1\n    return 1 / 0")])
        return [await boxes.call("a", [python("y = 2\nf()"), python("import sys\nsys.stdout.close()"), python("y")])]

    [answers] = use(spec, work)
    assert answers == ["Error: ZeroDivisionError: division by zero (line 2: f())", "", "2"]


ESCAPES = [
    "import socket; socket.socket()",
    "import subprocess; subprocess.run(['/bin/true'])",
    "import os; os.fork()",
    "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "open({outside!r}).read()",
    "open({outside!r}, 'w')",
    "import os; os.truncate({outside!r}, 0)",
    "import os; os.unlink({outside!r})",
    "import os; os.environ['CANARY_API_KEY']",
    "open(f'/proc/{{__import__(\"os\").getppid()}}/environ', 'rb').read().index(b'canary')",
    "import ctypes; ctypes.CDLL(None).execve(b'/bin/true', None, None) + 1 or 1 / 0",
    "import os; [os.pread(fd, 9, 0) for fd in range(5, 64)]",
]


def test_code_reaches_nothing_outside(spec: ToolsSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary")
    (outside := tmp_path / "outside").write_text("secret")

    async def work(boxes: Toolboxes) -> list[str]:
        async def tried(code: str) -> str:
            answers = await boxes.call(code, [python(code.format(outside=str(outside)))])
            return answers[0]

        return list(await asyncio.gather(*map(tried, ESCAPES)))

    answers = use(spec, work)
    assert all(answer.startswith("Error: ") for answer in answers), answers
    assert not any("secret" in answer or "canary" in answer.partition("(line")[0] for answer in answers), answers
    assert outside.read_text() == "secret"

"""Programs for ``--tools python`` that attack: each is answered in time, and reaches no file, secret or episode."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from environments.tools.calls import Call
from environments.tools.spec import ToolsSpec
from environments.tools.toolbox import Toolboxes
from tests.attacks.interpreter import INTERPRETER

TIMEOUT, LONGEST = 4.0, 3000
AT_ONCE = 2
MARGIN = 15.0  # seconds, for a machine that does other work as well
CANARY, SECRET, PRIVATE = "canary-4711", "secret-4711", "private-4711"
MARK = f"import os\nopen('f', 'w').write('{PRIVATE}')\nmine = '{PRIVATE}'\nos.path.realpath('f')"


def python(code: str) -> Call:
    return Call("python", json.dumps({"code": code}))


@dataclass
class Outcome:
    """What became of all programs."""

    answers: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of the slowest call of a program
    victim: str = ""
    outside: str = ""
    left: list[psutil.Process] = field(default_factory=list)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    tmp_path, found = tmp_path_factory.mktemp("attacks"), Outcome()
    (tmp_path / "temporary").mkdir()
    (outside := tmp_path / "outside").write_text(SECRET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path / "temporary"))
        patch.setenv("CANARY_API_KEY", CANARY)
        asyncio.run(attack(outside, found))
    found.outside = outside.read_text()
    return found


async def attack(outside: Path, found: Outcome) -> None:
    boxes = Toolboxes(ToolsSpec(("python",), timeout=TIMEOUT, max_answer=LONGEST))
    limit = asyncio.Semaphore(AT_ONCE)
    of_others = set(psutil.Process().children(recursive=True))  # what other tests keep in this process
    (place,) = await boxes.call("victim", [python(MARK)])
    processes = _children(of_others)

    async def run(name: str, codes: list[str]) -> None:
        async with limit:
            found.answers[name], found.seconds[name] = [], 0.0
            for code in codes:
                text = code.format(outside=str(outside), victim=place.strip("'"), pid=processes[-1].pid)
                start = time.monotonic()
                found.answers[name] += await boxes.call(name, [python(text)])
                found.seconds[name] = max(found.seconds[name], time.monotonic() - start)
            await boxes.close(name)

    try:
        await asyncio.gather(*(run(name, codes) for name, codes in INTERPRETER.items()))
        (found.victim,) = await boxes.call("victim", [python("mine, open('f').read()")])
        processes += _children(of_others)
    finally:
        await boxes.shutdown()
    found.left = psutil.wait_procs(processes, timeout=10)[1]


def _children(of_others: set[psutil.Process]) -> list[psutil.Process]:
    return [process for process in psutil.Process().children(recursive=True) if process not in of_others]


@pytest.mark.parametrize("name", INTERPRETER)
def test_an_attack_is_answered_and_tells_nothing(outcome: Outcome, name: str) -> None:
    answers = outcome.answers[name]
    assert len(answers) == len(INTERPRETER[name])
    assert outcome.seconds[name] < TIMEOUT + MARGIN
    for answer in answers:
        assert isinstance(answer, str) and len(answer) < LONGEST + 100
        answer.encode()  # no lone surrogates: a tokenizer refuses them
        assert not any(word in answer for word in (CANARY, SECRET, PRIVATE)), answer


def test_nothing_but_the_attackers_own_has_changed(outcome: Outcome) -> None:
    assert outcome.victim == str((PRIVATE, PRIVATE))
    assert outcome.outside == SECRET
    assert not outcome.left

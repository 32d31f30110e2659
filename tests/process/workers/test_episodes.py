"""Episodes of a user's environment: each in a process of its own, whatever it does."""

import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from environments.episodes import EpisodeError, Episodes
from environments.spec import EnvSpec
from trainer import ROOT

T = TypeVar("T")
COUNTER = """
import os, sys, time
import gymnasium
import numpy as np
from gymnasium.spaces import Text

class Counter(gymnasium.Env):
    observation_space = action_space = Text(100)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return f"start {self.np_random.integers(1000)}", {"pid": os.getpid()}

    def step(self, action):
        self.count += 1
        if action == "sleep":
            time.sleep(0.5)
        if action == "hang":
            while True:
                pass
        if action == "die":
            os._exit(3)
        if action == "exit":
            sys.exit("enough")
        if action == "raise":
            raise RuntimeError("no more tea")
        if action == "nan":
            return "", float("nan"), False, False, {}
        if action == "number":
            return 7, 0.0, False, False, {}
        if action == "short":
            return "", 0.0, False, {}
        if action == "array":
            return "", 0.0, np.array([True, False]), False, {}
        if action.startswith("tell "):  # its own lines, where its answers go
            for fd in range(3, 64):
                try:
                    os.write(fd, action[5:].encode() + b"\\n")
                except OSError:
                    pass
        if action == "start":
            import subprocess
            return str(subprocess.Popen(["sleep", "99"]).pid), 0.0, False, False, {}
        if action == "long":
            return "x" * 200_000, 0.0, False, False, {}
        return f"count {self.count}", 1.0, action == "end", False, {"invalid": action == "?", "list": [1]}
"""


@pytest.fixture
def counter(tmp_path: Path) -> EnvSpec:
    (tmp_path / "mine.py").write_text(COUNTER, encoding="utf-8")
    return EnvSpec(f"{tmp_path}/mine.py:Counter", timeout=3.0, max_turns=10)


def run(spec: EnvSpec, play: Callable[[Episodes], Awaitable[T]]) -> T:
    async def all_of_it() -> T:
        episodes = Episodes(spec)
        try:
            return await play(episodes)
        finally:
            await episodes.shutdown()

    return asyncio.run(all_of_it())


def test_a_built_in_game() -> None:
    async def play(episodes: Episodes) -> list[float]:
        await asyncio.gather(*(episodes.reset(str(number), number) for number in range(3)))
        moves = ["down", "down", "right", "down", "right", "right"]
        turns = [[await episodes.step(str(number), move) for move in moves] for number in range(3)]
        assert all(turn[-1].terminated and turn[-1].info["success"] for turn in turns)
        return [sum(turn.reward for turn in episode) for episode in turns]

    assert run(EnvSpec("frozenlake"), play) == [1.0, 1.0, 1.0]


def test_a_users_environment(counter: EnvSpec) -> None:
    async def play(episodes: Episodes) -> None:
        first, second, other = await asyncio.gather(*(episodes.reset(n, s) for n, s in (("a", 1), ("b", 1), ("c", 2))))
        assert first.observation == second.observation != other.observation
        assert len({turn.info["pid"] for turn in (first, second, other)} | {os.getpid()}) == 4
        assert (await episodes.step("a", "x")).observation == "count 1"
        assert (await episodes.step("b", "x")).observation == "count 1"
        wrong = await episodes.step("a", "?")
        assert wrong.reward == pytest.approx(0.9) and wrong.info == {"invalid": True, "turn": 2}
        assert (await episodes.step("a", "end")).terminated

    run(counter, play)


@pytest.mark.parametrize(
    ("action", "cause"),
    [
        ("hang", r"step takes more than 3 s \(--env_timeout\)"),
        ("die", "its process has ended"),
        ("exit", "SystemExit"),
        ("raise", r"step raised RuntimeError \(no more tea\) at line 27"),
        ("nan", "step returned nan as the reward; a finite number is wanted"),
        ("number", "step returned int '7' as the observation; a text is wanted"),
        ("short", r"\(observation, reward, terminated, truncated, info\) is wanted"),
        ("array", "as terminated; True or False is wanted"),
        ("long", "an observation of 200,000 characters; 100,000 at most"),
    ],
)
def test_an_episode_that_breaks_ends_alone(counter: EnvSpec, action: str, cause: str) -> None:
    async def play(episodes: Episodes) -> int:
        broken, _ = await asyncio.gather(episodes.reset("broken", 1), episodes.reset("sound", 2))
        with pytest.raises(EpisodeError, match=cause):
            await episodes.step("broken", action)
        assert (await episodes.step("sound", "x")).observation == "count 1"
        return int(broken.info["pid"])

    pid = run(counter, play)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    "line",
    [
        *(
            '{"pid": PID}',
            '{"begun": true, "pid": PID}',
            "PID",
            "[]",
            "null",
            "no JSON",
            "",
            "[" * 100_000,
            '{"rules": 5}',
        ),
        *('{"reward": 5}', '{"observation": 5, "reward": 0, "terminated": false, "truncated": false, "info": {}}'),
        '{"observation": "", "reward": "x", "terminated": false, "truncated": false, "info": {}}',
        '{"observation": "", "reward": 1, "terminated": false, "truncated": false, "info": {}, "more": 1}',
    ],
)
def test_what_an_environment_writes_among_its_answers_ends_no_process(counter: EnvSpec, line: str) -> None:
    with subprocess.Popen(["sleep", "99"], start_new_session=True) as victim:
        text = line.replace("PID", str(victim.pid))

        async def play(episodes: Episodes) -> str:
            await episodes.reset("a", 1)
            await episodes.reset("b", 1)
            with pytest.raises(EpisodeError, match="something else than answers"):
                await episodes.step("a", f"tell {text}")
            await episodes.close("a")
            return (await episodes.step("b", "go")).observation

        try:
            assert run(counter, play) == "count 1"
            assert victim.poll() is None
        finally:
            victim.kill()


def test_what_an_environment_has_started_ends_with_its_episode(counter: EnvSpec) -> None:
    async def play(episodes: Episodes) -> list[int]:
        started = []
        for episode in ("a", "b"):
            await episodes.reset(episode, 1)
            started.append(int((await episodes.step(episode, "start")).observation))
        await episodes.close("a")
        with pytest.raises(EpisodeError, match="takes more than"):
            await episodes.step("b", "hang")
        await episodes.reset("c", 1)  # the process that forks them goes on
        await asyncio.sleep(0.5)
        return started

    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in run(counter, play))


def test_slow_steps_overlap(counter: EnvSpec) -> None:
    """16 steps of half a second each, while a quick one is not held up."""

    async def play(episodes: Episodes) -> tuple[float, float]:
        await asyncio.gather(*(episodes.reset(str(number), number) for number in range(17)))
        start = time.monotonic()

        async def quick() -> float:
            await episodes.step("16", "x")
            return time.monotonic() - start

        _, seconds = await asyncio.gather(
            asyncio.gather(*(episodes.step(str(number), "sleep") for number in range(16))), quick()
        )
        return time.monotonic() - start, seconds

    whole, quick = run(counter, play)
    assert whole < 4.0 and quick < 0.45


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import nothing_of_that_name", r"importing it fails: ModuleNotFoundError .*at line 1"),
        ("x = 1", "the file has no class Counter"),
        ("class Counter: pass", "it is no gymnasium.Env, but Counter"),
        (COUNTER.replace("Text(100)", "None"), "observation_space is not set and action_space is not set"),
        (COUNTER + "    def __init__(self, size): pass", "it cannot be made with {}: .*its arguments: size"),
        (COUNTER + "    def __init__(self): 1 / 0", "it cannot be made with {}: ZeroDivisionError"),
    ],
)
def test_an_environment_that_cannot_be_had(tmp_path: Path, source: str, cause: str) -> None:
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    with pytest.raises(EpisodeError, match=cause):
        run(EnvSpec(f"{tmp_path}/mine.py:Counter"), lambda episodes: episodes.reset("a", 1))


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    source = page.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")

    async def play(episodes: Episodes) -> tuple[str, list[str]]:
        await episodes.reset("a", 1)
        answers = [await episodes.step("a", guess) for guess in ("ten", *"123456789")]
        assert answers[0].info["invalid"] and sum(turn.info.get("success", False) for turn in answers) == 1
        return await episodes.rules(), [turn.observation for turn in answers]

    rules, said = run(EnvSpec(f"{tmp_path}/mine.py:Guess"), play)
    assert rules == "I think of a number from 1 to 9. Guess it."
    assert said[0] == "A number from 1 to 9, please." and "Right." in said

"""Hangs made on purpose, in real processes: py-spy's stacks name what waits, and for whom."""

import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from trainer import ROOT
from trainer.launch.hang import diagnosis, stacks
from trainer.launch.hang.watch import BEFORE_STEPS, LEAST, HangWatch, limit
from trainer.monitor.progress import Progress

HUNG = re.compile(r"no progress for 36\d\d s \(starting Ray\): stopped by a signal")
NAMED = "import setproctitle\nsetproctitle.setproctitle({title!r})\n"
REWARD = """
import asyncio
from reward import custom
print("ready", flush=True)
custom.load({spec!r})
from reward.entry import function_score
asyncio.run(function_score("d", "a", "b", {{}}, reward_fn={spec!r}))
"""
RANK = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:{port}", rank={rank}, world_size=2)
dist.barrier()
print("ready", flush=True)
if {rank}:
    import time
    def update_that_takes_long():
        time.sleep(600)
    update_that_takes_long()
dist.all_reduce(torch.ones(1))
"""


@contextmanager
def running(*codes: tuple[str, str]) -> Iterator[list[psutil.Process]]:
    """Processes by title and code, each of which says that it is ready."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = [
        subprocess.Popen(
            [sys.executable, "-c", NAMED.format(title=title) + textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            env=environment,
        )
        for title, code in codes
    ]
    try:
        for process in made:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(1.5)
        yield [psutil.Process(process.pid) for process in made]
    finally:
        for process in made:
            process.kill()
            process.communicate()


def examined(processes: list[psutil.Process]) -> tuple[diagnosis.Diagnosis, list[str]]:
    taken = stacks.take(processes)
    assert [each.fault for each in taken] == [""] * len(processes)
    return diagnosis.find(taken), diagnosis.where(taken)


def test_a_reward_function_that_never_returns(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import time\n\n\ndef score(data_source, solution_str, ground_truth, extra_info=None):\n    time.sleep(600)\n"
    )
    with running(("ray::RewardLoopWorker", REWARD.format(spec=f"{tmp_path}/mine.py:score"))) as made:
        found, where = examined(made)
    assert found.cause == f"the reward function does not return: score ({tmp_path}/mine.py:5)"
    assert where == [f"reward worker: score ({tmp_path}/mine.py:5)"]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_ranks_that_wait_and_one_that_is_behind() -> None:
    port = free_port()
    with running(*(("ray::WorkerDict.update", RANK.format(port=port, rank=rank)) for rank in (0, 1))) as made:
        found, where = examined(made)
        behind = made[1].pid
    assert found.cause.startswith(
        f"1 of 2 ranks wait in all_reduce for process {behind}, which is at update_that_takes"
    )
    assert len(where) == 2


def test_a_rank_that_was_stopped() -> None:
    port = free_port()
    with running(*(("ray::WorkerDict.update", RANK.format(port=port, rank=rank)) for rank in (0, 1))) as made:
        made[1].send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        found, _ = examined(made)
        assert found.cause == (f"stopped by a signal or a debugger: rank of actor and critic (process {made[1].pid})")
        assert found.remedy.startswith(f"resume them with kill -CONT {made[1].pid}")


def test_vllms_engine_that_was_stopped() -> None:
    with running(("VLLM::EngineCore", "print('ready', flush=True)\nimport time\ntime.sleep(600)")) as made:
        made[0].send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        assert "vLLM's engine (process " in examined(made)[0].cause


@pytest.mark.parametrize(
    ("title", "said"),
    [("python -m environments.tools.process 5 {}", "tools"), ("python -m environments.episode_process", "environment")],
)
def test_a_call_of_the_users_that_never_returns(title: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import time\n\n\ndef ask():\n    time.sleep(600)\n")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport mine\nprint('ready', flush=True)\nmine.ask()"
    with running((title, code)) as made:
        found, _ = examined(made)
    assert found.cause == f"{said}: a call does not return: ask ({tmp_path}/mine.py:5)"


def test_an_idle_process_is_no_cause() -> None:
    code = "import threading\nprint('ready', flush=True)\nthreading.Event().wait()"
    with running(("ray::RewardLoopWorker", code)) as made:
        found, where = examined(made)
    assert found.cause == "the stacks show no known cause" and where == []


def progress(folder: Path, said: list[str]) -> Progress:
    (folder / "train.log").touch()
    return Progress(folder, 10, said.append)


def test_the_deadline_is_learnt(tmp_path: Path) -> None:
    made = progress(tmp_path, [])
    assert limit(made) == BEFORE_STEPS
    made.step_ends = [0.0, 10.0, 30.0, 35.0]
    assert limit(made) == LEAST
    made.step_ends.append(335.0)
    assert limit(made) == 3000.0


def test_a_hang_is_told_once_in_five_lines_and_ends_the_run_where_it_was_asked_to(tmp_path: Path) -> None:
    said: list[str] = []
    made = progress(tmp_path, said)
    quiet, asked = HangWatch(tmp_path, None, said.append), HangWatch(tmp_path, 30, said.append)
    assert quiet.look(made) == asked.look(made) == "" and said == []
    made.moved -= BEFORE_STEPS + 1
    with running(("ray::WorkerDict.update", "print('ready', flush=True)\nimport time\ntime.sleep(600)")) as (child,):
        child.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        assert quiet.look(made) == ""
        assert 2 <= len(said) <= 5 and HUNG.match(said[0])
        assert quiet.look(made) == "" and len(said) <= 5, "told once"
        assert HUNG.match(asked.look(made))
    (file, *_) = tmp_path.glob("stacks-*.txt")
    text = file.read_text()
    assert f"{child.pid} [stopped] ray::WorkerDict.update" in text and "thread 0" in text
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_process_without_stacks_is_told() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        (taken,) = stacks.take([psutil.Process(process.pid)])
    finally:
        process.kill()
        process.wait()
    assert taken.fault == "no Python" and "no stacks: no Python" in stacks.written([taken])

"""Hangs made on purpose, in real processes: py-spy's stacks name what waits, and for whom."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from reward.judge.gateway import gateway
from reward.support import events
from tests.process.launch.named_processes import NOWHERE, examined, running, stop
from tests.support.judge_server import JudgeServer, judge_of_sums
from tests.support.judging import config, judging, sums
from trainer.launch.hang import diagnosis
from trainer.launch.hang.watch import BEFORE_STEPS, LEAST, HangWatch, limit
from trainer.monitor.progress import Progress

HUNG = re.compile(r"no progress for 36\d\d s \(starting Ray\): stopped by a signal")
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
dist.init_process_group("gloo", init_method="file://{store}", rank={rank}, world_size=2)
dist.barrier()
print("ready", flush=True)
if {rank}:
    import time
    def update_that_takes_long():
        time.sleep(600)
    update_that_takes_long()
dist.all_reduce(torch.ones(1))
"""
DRIVER = """
import threading
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.lock = threading.Lock()
        self.lock.acquire()
    def __len__(self):
        return 8
    def __getitem__(self, index):
        read_after_the_fork(self.lock)

def read_after_the_fork(lock):
    with lock:
        return 1

print("ready", flush=True)
next(iter(DataLoader(Rows(), num_workers=1)))
"""


def test_a_reward_function_that_never_returns(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import time\n\n\ndef score(data_source, solution_str, ground_truth, extra_info=None):\n    time.sleep(600)\n"
    )
    with running(("ray::RewardLoopWorker", REWARD.format(spec=f"{tmp_path}/mine.py:score"))) as made:
        found, where = examined(made, "the reward function does not return")
    assert found.cause == f"the reward function does not return: score ({tmp_path}/mine.py:5)"
    assert where == [f"reward worker: score ({tmp_path}/mine.py:5)"]


def test_ranks_that_wait_and_one_that_is_behind(tmp_path: Path) -> None:
    with running(
        *(("ray::WorkerDict.update", RANK.format(store=tmp_path / "store", rank=rank)) for rank in (0, 1))
    ) as made:
        found, where = examined(made, "which is at update_that_takes")
        behind = made[1].pid
    assert found.cause.startswith(
        f"1 of 2 ranks wait in all_reduce for process {behind}, which is at update_that_takes"
    )
    assert len(where) == 2


def test_a_rank_that_was_stopped(tmp_path: Path) -> None:
    with running(
        *(("ray::WorkerDict.update", RANK.format(store=tmp_path / "store", rank=rank)) for rank in (0, 1))
    ) as made:
        stop(made[1])
        found, _ = examined(made, "stopped by a signal")
        assert found.cause == (f"stopped by a signal or a debugger: rank of actor and critic (process {made[1].pid})")
        assert found.remedy.startswith(f"resume them with kill -CONT {made[1].pid}")


def test_a_data_worker_that_waits_for_a_lock_of_before_the_fork() -> None:
    with running(("ray::TaskRunner", DRIVER)) as made:
        deadline = time.monotonic() + 60
        while not (workers := made[0].children()):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        (worker,) = workers
        found, where = examined([*made, worker], "is at read_after_the_fork")
        worker.kill()
    assert found.cause == (
        f"reading the next prompts does not return: its data worker (process {worker.pid}) is at "
        "read_after_the_fork (<string>:17)"
    )
    assert where[0] == "driver: read_after_the_fork (<string>:17)"


def test_vllms_engine_that_was_stopped() -> None:
    with running(("VLLM::EngineCore", "print('ready', flush=True)\nimport time\ntime.sleep(600)")) as made:
        stop(made[0])
        examined(made, "vLLM's engine (process ")


@pytest.mark.parametrize(
    ("title", "said"),
    [("python -m environments.tools.process 5 {}", "tools"), ("python -m environments.episode_process", "environment")],
)
def test_a_call_of_the_users_that_never_returns(title: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import time\n\n\ndef ask():\n    time.sleep(600)\n")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport mine\nprint('ready', flush=True)\nmine.ask()"
    with running((title, code)) as made:
        found, _ = examined(made, f"{said}: a call")
    assert found.cause == f"{said}: a call does not return: ask ({tmp_path}/mine.py:5)"


def test_a_full_pipe() -> None:
    """A rank prints into a pipe whose reader was stopped."""
    writer = "print('ready', flush=True)\nimport os\nwhile True:\n    os.write({fd}, b'x' * 4096)"
    read, write = os.pipe()
    reader = subprocess.Popen(["sleep", "600"], stdin=read)
    try:
        with running(("ray::WorkerDict.update", writer.format(fd=write)), keep=(write,)) as (process,):
            found, _ = examined([process], "waits for room in a pipe")
    finally:
        reader.kill()
        reader.wait()
        os.close(read)
        os.close(write)
    assert found.cause.startswith(f"rank of actor and critic (process {process.pid}) waits for room in a pipe")
    assert f"process {reader.pid} (sleep)" in found.cause


def test_a_judge_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway says that questions wait; that is no sign of life, and the cause where nothing else is one."""
    said: list[str] = []
    made = progress(tmp_path, said)
    with JudgeServer(judge_of_sums) as server:
        judging(config(server), lambda judge, _: sums(judge, 1))  # imports the SDK, while nothing else can be done
        server.script.latency = 1.6
        monkeypatch.setattr(gateway, "WAITS_LONG", 0.5)
        monkeypatch.setenv(events.PATH, str(tmp_path / events.FILE))
        judging(config(server), lambda judge, _: sums(judge, 1))
    moved = made.moved
    made.follow()
    assert made.moved == moved and len(said) >= 2
    assert re.search(r"1 question to the judge without an answer, the first for \d+ s", said[0])
    assert diagnosis.find([], made.judge_waits).cause == made.judge_waits
    events.append(made.events, "driver", "phase", name="ready")
    made.follow()
    assert made.judge_waits == ""


def test_an_idle_process_is_no_cause() -> None:
    code = "import threading\nprint('ready', flush=True)\nthreading.Event().wait()"
    with running(("ray::RewardLoopWorker", code)) as made:
        time.sleep(1.0)  # it waits by then, or is about to
        _, where = examined(made, "the stacks show no known cause")
    assert where == []


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
    quiet, asked = (HangWatch(tmp_path, NOWHERE, timeout, said.append) for timeout in (None, 30))
    assert quiet.look(made) == asked.look(made) == "" and said == []
    made.moved -= BEFORE_STEPS + 1
    with running(("ray::WorkerDict.update", "print('ready', flush=True)\nimport time\ntime.sleep(600)")) as (child,):
        stop(child)
        assert quiet.look(made) == ""
        assert 2 <= len(said) <= 5 and HUNG.match(said[0])
        assert quiet.look(made) == "" and len(said) <= 5, "told once"
        assert HUNG.match(asked.look(made))
    (file, *_) = tmp_path.glob("stacks-*.txt")
    text = file.read_text()
    assert f"{child.pid} [stopped] ray::WorkerDict.update" in text and "thread 0" in text
    assert file.stat().st_mode & 0o777 == 0o600

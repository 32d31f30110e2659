"""Hangs made on purpose, in real processes: py-spy's stacks name what waits, and for whom."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from reward.judge.gateway import gateway
from reward.support import events
from tests.support.judge_server import JudgeServer, judge_of_sums
from tests.support.judging import config, judging, sums
from tests.support.ports import free_port
from trainer import ROOT
from trainer.launch.cluster.head_node import HeadNode
from trainer.launch.hang import diagnosis, stacks
from trainer.launch.hang.watch import BEFORE_STEPS, LEAST, HangWatch, limit
from trainer.monitor.progress import Progress
from trainer.runs import stack_dump
from trainer.settings.settings import read_settings

PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19  # prctl(2), capabilities(7)
NOWHERE = Path(os.devnull)  # no process has a file of its own there
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


@contextmanager
def running(*codes: tuple[str, str], keep: Sequence[int] = ()) -> Iterator[list[psutil.Process]]:
    """Processes by title and code, each of which says that it is ready."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = [
        subprocess.Popen(
            [sys.executable, "-c", NAMED.format(title=title) + textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=keep,
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
    taken = stacks.take(processes, NOWHERE)
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


def test_ranks_that_wait_and_one_that_is_behind(tmp_path: Path) -> None:
    with running(
        *(("ray::WorkerDict.update", RANK.format(store=tmp_path / "store", rank=rank)) for rank in (0, 1))
    ) as made:
        found, where = examined(made)
        behind = made[1].pid
    assert found.cause.startswith(
        f"1 of 2 ranks wait in all_reduce for process {behind}, which is at update_that_takes"
    )
    assert len(where) == 2


def test_a_rank_that_was_stopped(tmp_path: Path) -> None:
    with running(
        *(("ray::WorkerDict.update", RANK.format(store=tmp_path / "store", rank=rank)) for rank in (0, 1))
    ) as made:
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


WAITS = """
import os
from trainer.runs import stack_dump
from trainer.settings.settings import read_settings
stack_dump.register()
if {forks} and not os.fork():
    print(os.getpid(), flush=True)
    import time
    def update_that_takes_long():
        time.sleep(600)
    update_that_takes_long()
if not {forks}:
    print(os.getpid(), flush=True)
import threading
threading.Event().wait()
"""
# Without the right to trace, as in a container: CAP_SYS_PTRACE leaves the bounding set, and so this exec.
NO_TRACE = """
import ctypes, json, sys, psutil
from pathlib import Path
from trainer.launch.hang import stacks
print(json.dumps(stacks.pack(stacks.take([psutil.Process(int(sys.argv[1]))], Path(sys.argv[2])), 1 << 20)))
"""


def without_tracing() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="takes the right to trace from root; others have none to take")
@pytest.mark.parametrize("forks", [True, False])
def test_where_nobody_may_look_into_a_process_it_writes_its_stacks_itself(forks: bool, tmp_path: Path) -> None:
    """The process is not dumpable, and who examines it has no CAP_SYS_PTRACE."""
    folder = tmp_path / "stacks"
    code = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" + WAITS.format(forks=forks)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), stack_dump.FOLDER: str(folder)}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    try:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        time.sleep(0.5)

        def examined_by_another(folder: Path) -> stacks.Process:
            command = [sys.executable, "-c", NO_TRACE, str(pid), str(folder)]
            done = subprocess.run(command, capture_output=True, env=environment, preexec_fn=without_tracing, check=True)
            (taken,) = stacks.unpack(json.loads(done.stdout), "node 1 (other)")
            return taken

        assert examined_by_another(NOWHERE).fault.startswith("Error"), "py-spy's"
        taken = examined_by_another(folder)
    finally:
        for each in [*psutil.Process(process.pid).children(), process]:
            each.kill()
        process.communicate()
    assert not taken.fault and str(taken) == f"process {pid} on node 1 (other)"
    functions = [frame.function for frame in taken.threads[0]]
    assert ("update_that_takes_long" in functions) == forks
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_process_that_writes_no_stacks_is_sent_no_signal(tmp_path: Path) -> None:
    with running(("python", "print('ready', flush=True)\nimport time\ntime.sleep(600)")) as (process,):
        (tmp_path / str(process.pid)).touch()  # of one that had its id before
        assert stack_dump.ask(process.pid, tmp_path) == ""
        assert process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_full_pipe() -> None:
    """A rank prints into a pipe whose reader was stopped."""
    writer = "print('ready', flush=True)\nimport os\nwhile True:\n    os.write({fd}, b'x' * 4096)"
    read, write = os.pipe()
    reader = subprocess.Popen(["sleep", "600"], stdin=read)
    try:
        with running(("ray::WorkerDict.update", writer.format(fd=write)), keep=(write,)) as (process,):
            found, _ = examined([process])
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
    monkeypatch.setattr(gateway, "WAITS_LONG", 0.5)
    monkeypatch.setenv(events.PATH, str(tmp_path / events.FILE))

    with JudgeServer(judge_of_sums, latency=1.6) as server:
        judging(config(server), lambda judge, _: sums(judge, 1))
    moved = made.moved
    made.follow()
    assert made.moved == moved and len(said) >= 2
    assert re.search(r"1 question to the judge without an answer, the first for [01] s", said[0])
    assert diagnosis.find([], made.judge_waits).cause == made.judge_waits
    events.append(made.events, "driver", "phase", name="ready")
    made.follow()
    assert made.judge_waits == ""


WORKER_NODE = """
import sys
from trainer.launch.cluster.worker_node import run_worker_node
from trainer.settings.settings import read_settings
run_worker_node(read_settings({{**{given}, "NODE_RANK": "1", "NODE_ADDR": "127.0.0.2"}}, [], gpus=0), print)
"""


def test_a_process_of_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker node, whose rank was stopped, is asked by the head node over their connection."""
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a token of Ray's")
    given = {"NNODES": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OUTPUT_DIR": str(tmp_path)}
    said: list[str] = []
    head_node = HeadNode(read_settings(given | {"NODE_RANK": "0"}, [], gpus=0), said.append)
    rank = NAMED.format(title="ray::WorkerDict.update") + "print('ready', flush=True)\nimport time\ntime.sleep(600)"
    code = f"import subprocess\nsubprocess.Popen([sys.executable, '-c', {rank!r}])\n"
    worker = WORKER_NODE.format(given=given).replace("import sys\n", f"import sys\n{code}")
    with running(("worker node", worker)) as (process,), head_node.ending():
        head_node.open()
        (child,) = process.children()
        child.suspend()
        deadline = time.monotonic() + 60
        while not (taken := head_node.stacks()):
            assert time.monotonic() < deadline, said
            time.sleep(0.2)
        child.kill()
    (stopped,) = taken
    assert (stopped.pid, stopped.is_stopped) == (child.pid, True)
    found = diagnosis.find(taken)
    assert f"rank of actor and critic (process {child.pid} on node 1 (" in found.cause
    assert f"kill -CONT {child.pid} on node 1 (" in found.remedy


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
    quiet, asked = (HangWatch(tmp_path, NOWHERE, timeout, said.append) for timeout in (None, 30))
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
        (taken,) = stacks.take([psutil.Process(process.pid)], NOWHERE)
    finally:
        process.kill()
        process.wait()
    assert taken.fault == "no Python" and "no stacks: no Python" in stacks.written([taken])

"""Whose stacks can be had: processes that nobody may look into, those of another machine, those without Python."""

import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.process.launch.named_processes import NAMED, NOWHERE, running
from tests.support.ports import free_port
from trainer import ROOT
from trainer.launch.cluster.head_node import HeadNode
from trainer.launch.hang import diagnosis, stacks
from trainer.runs import stack_dump
from trainer.settings.settings import read_settings

PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19  # prctl(2), capabilities(7)
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

        def examined_by_another(folder: Path) -> stacks.Process:
            command = [sys.executable, "-c", NO_TRACE, str(pid), str(folder)]
            done = subprocess.run(command, capture_output=True, env=environment, preexec_fn=without_tracing, check=True)
            (taken,) = stacks.unpack(json.loads(done.stdout), "node 1 (other)")
            return taken

        assert examined_by_another(NOWHERE).fault.startswith("Error"), "py-spy's"
        deadline = time.monotonic() + 60
        while True:
            taken = examined_by_another(folder)
            functions = [frame.function for frame in taken.threads[0]] if taken.threads else []
            if not forks or "update_that_takes_long" in functions or time.monotonic() > deadline:
                break
    finally:
        for each in [*psutil.Process(process.pid).children(), process]:
            each.kill()
        process.communicate()
    assert not taken.fault and str(taken) == f"process {pid} on node 1 (other)"
    assert ("update_that_takes_long" in functions) == forks
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_process_that_writes_no_stacks_is_sent_no_signal(tmp_path: Path) -> None:
    with running(("python", "print('ready', flush=True)\nimport time\ntime.sleep(600)")) as (process,):
        (tmp_path / str(process.pid)).touch()  # of one that had its id before
        assert stack_dump.ask(process.pid, tmp_path) == ""
        assert process.is_running() and process.status() != psutil.STATUS_ZOMBIE


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


def test_a_process_without_stacks_is_told() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        (taken,) = stacks.take([psutil.Process(process.pid)], NOWHERE)
    finally:
        process.kill()
        process.wait()
    assert taken.fault == "no Python" and "no stacks: no Python" in stacks.written([taken])

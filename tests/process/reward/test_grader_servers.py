"""Servers of graders end with whoever started them, however it ends."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.support.command import clean_environment
from trainer import ROOT

MATH = "import reward.worker_pool.pool as k; k.ask('math', truth='x+1', answer='1+x')"
ENDLESS = "import reward.worker_pool.pool as k; k.ask('regex', 600, pattern='(a+)+', text='a' * 60 + '!')"
CODE = "from reward.sandbox.run import run_tests; run_tests({'code': 'def f(): pass', 'tests': 'assert f() is None'})"
LOOP = "from reward.sandbox.run import run_tests; run_tests({'code': 'while True: pass', 'tests': 'f()'})"
# Another process that holds the pipes open: their end is no sign of the parent's death.
HOLDER = "import os, time; os.fork() or time.sleep(60)"


def start(body: str) -> subprocess.Popen[bytes]:
    code = f"{body}; import time; time.sleep(600)"
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=clean_environment(PYTHONPATH=str(ROOT)))


def descendants(pid: int, wanted: int) -> list[psutil.Process]:
    """The descendants of a process, as soon as there are so many and all have come to rest."""
    deadline, before = time.monotonic() + 120, None
    while time.monotonic() < deadline and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        found = psutil.Process(pid).children(recursive=True)
        if len(found) >= wanted and found == before:
            return found
        before = found
        time.sleep(1.0)
    raise AssertionError("the graders do not start")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [(MATH, 2), (ENDLESS, 2), (CODE, 3), (LOOP, 3), (f"{MATH}; {HOLDER}", 3), (f"{CODE}; {HOLDER}", 4)],
    ids=["math", "endless", "code", "endless code", "math, pipes held", "code, pipes held"],
)
def test_all_end_within_seconds_of_a_parent_that_was_killed(body, wanted) -> None:
    parent = start(body)
    found = descendants(parent.pid, wanted)
    graders = [process for process in found if "time.sleep(600)" not in " ".join(process.cmdline())]
    assert len(graders) >= 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    try:
        _, alive = psutil.wait_procs(graders, timeout=30)
        assert alive == []
    finally:
        for process in found:
            if process.is_running():
                process.kill()


def test_a_child_that_fails_is_not_forked_in_a_hot_loop(tmp_path) -> None:
    """A turn that breaks at once, as where the sandbox cannot be built: a few tries a second, and the end."""
    log = tmp_path / "turns"
    code = (
        "import contextlib, os; from reward.worker_pool import forkserver\n"
        f"def turn(where): os.write(os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), b'x'); 1 / 0\n"
        "forkserver.run(turn, contextlib.nullcontext)"
    )
    environment = clean_environment(PYTHONPATH=str(ROOT), KIT_PARENT=str(os.getpid()))
    pipe = subprocess.PIPE
    server = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    )
    try:
        while not log.exists():
            assert server.poll() is None
            time.sleep(0.1)
        time.sleep(4)
        assert log.stat().st_size <= 12
    finally:
        server.kill()
        server.wait()


def test_a_server_that_can_make_no_place_says_why() -> None:
    from reward.support.errors import GraderFailed
    from reward.worker_pool.pool import Worker

    code = (
        "import os; from reward.worker_pool import forkserver\n"
        "def place(): raise OSError(28, 'No space left on device')\n"
        "forkserver.run(lambda where: 0, place)"
    )
    worker = Worker([sys.executable, "-c", code], clean_environment(PYTHONPATH=str(ROOT)))
    started = time.monotonic()
    with pytest.raises(GraderFailed, match="No space left"):
        worker.ask({}, 5.0)
    assert time.monotonic() - started < 10
    worker.close()


def test_where_cpu_time_counts_a_busy_machine_makes_no_answer_late() -> None:
    """A child that sleeps stands for one that others keep from its work."""
    from reward.support.errors import GraderStarved, GraderTimeout
    from reward.worker_pool.pool import Worker

    code = (
        "import contextlib, json, os, time; from reward.worker_pool import child, forkserver\n"
        "def turn(where):\n"
        "    while line := child.read_line():\n"
        "        asked, began = json.loads(line), time.process_time()\n"
        "        time.sleep(asked['waits'])\n"
        "        while time.process_time() - began < asked['works']: pass\n"
        "        os.write(1, b'{\"value\": true}\\n')\n"
        "    return child.NO_REQUEST\n"
        "forkserver.run(turn, contextlib.nullcontext, cpu_time=True)"
    )
    worker = Worker([sys.executable, "-c", code], clean_environment(PYTHONPATH=str(ROOT)))
    assert worker.ask({"waits": 1.0, "works": 0.1}, 0.5)
    with pytest.raises(GraderTimeout, match=r"no verdict after 0\.5 s") as late:
        worker.ask({"waits": 0.0, "works": 60.0}, 0.5)
    assert late.type is GraderTimeout
    with pytest.raises(GraderStarved, match=r"less than 0\.5 s of CPU time in 3 s"):
        worker.ask({"waits": 60.0, "works": 0.0}, 0.5)
    assert worker.ask({"waits": 0.0, "works": 0.0}, 0.5)
    worker.close()


def test_a_pipe_that_breaks_ends_the_server(tmp_path) -> None:
    code = (
        "import contextlib, os; from reward.worker_pool import forkserver\n"
        "def turn(where): os.write(1, b'here'); return 0\n"
        "forkserver.run(turn, contextlib.nullcontext)"
    )
    environment = clean_environment(PYTHONPATH=str(ROOT), KIT_PARENT=str(os.getpid()))
    server = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.close()
    assert server.wait(timeout=60) == 0


def test_closing_a_worker_removes_its_folder(tmp_path, monkeypatch) -> None:
    from reward.sandbox import run as sandbox

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    worker = sandbox._worker()
    assert len(list(tmp_path.glob("kit-code-*"))) == 1
    pid = worker._process.pid
    worker.close()
    assert not list(tmp_path.iterdir())
    assert not psutil.pid_exists(pid)


def test_a_folder_whose_server_was_killed_goes_with_the_next_server(tmp_path, monkeypatch) -> None:
    from reward.sandbox import run as sandbox

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed, alive = sandbox._worker(), sandbox._worker()
    folders = set(tmp_path.glob("kit-code-*"))
    assert len(folders) == 2
    pair = psutil.Process(killed._process.pid).children(recursive=True)
    killed._process.kill()
    killed._process.wait()
    psutil.wait_procs(pair, timeout=30)
    for folder in folders:
        os.utime(folder, (0, 0))
    third = sandbox._worker()
    left = folders & set(tmp_path.glob("kit-code-*"))
    assert len(left) == 1  # the one that is in use
    assert alive.ask({"job": {"code": "def f(): return 1", "tests": "assert f() == 1"}}, 60)["passed"]
    for worker in (alive, third):
        worker.close()
    assert not list(tmp_path.iterdir())


def test_sigterm_while_a_place_is_made_or_removed_leaves_none(tmp_path) -> None:
    """A child that ends at once keeps the server at making and removing its place."""
    code = (
        "import os; from reward.worker_pool import forkserver\n"
        "from reward.sandbox.tests_process.folders import run_folder\n"
        "forkserver.LONGEST_PAUSE = 0.0\n"
        "forkserver.run(lambda where: 0, run_folder, prepare=lambda: os.write(2, b'.'))"
    )
    environment = clean_environment(PYTHONPATH=str(ROOT), TMPDIR=str(tmp_path), KIT_PARENT=str(os.getpid()))
    for moment in range(20):
        server = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert server.stderr is not None
        server.stderr.read(1)
        time.sleep(0.01 + moment * 0.0007)
        server.terminate()
        server.communicate(timeout=60)
        assert not list(tmp_path.iterdir())

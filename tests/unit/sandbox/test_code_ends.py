"""What a run of code leaves: it is killed at the end of its time, with all that it started, and its folder goes."""

import contextlib
import os
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from reward.entry import compute_score
from reward.sandbox import run as sandbox
from tests.attacks.programs import RIGHT, TESTS


def run(code: str) -> dict[str, float]:
    result = compute_score("code", f"```python\n{code}\n```", TESTS)
    assert not result["unscored"]
    return result


def test_what_never_ends_is_killed_and_counted(monkeypatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 1.0)
    monkeypatch.setattr(sandbox, "_pool", sandbox.Pool(1, sandbox._worker))
    for code in (
        "while True:\n    pass",
        "def f(x):\n    import time\n    time.sleep(99)",
        "import signal\nsignal.pthread_sigmask(0, range(1, 64))\nwhile True:\n    pass",
        "import threading\nfor _ in range(500):\n    threading.Thread(target=lambda: list(iter(int, 1))).start()",
    ):
        result = run(code)
        assert result["score"] == 0.0, code
    assert run("while True:\n    pass")["timeout"] == 1.0
    assert run(RIGHT)["score"] == 1.0
    sandbox._pool._idle[0].close()


@pytest.mark.parametrize("code", ["import time\ntime.sleep(3600)", "while True:\n    pass"])
def test_the_code_is_killed_with_its_verdict(monkeypatch, code) -> None:
    """Also where it costs no CPU time, whose limit would end it."""
    monkeypatch.setattr(sandbox, "SECONDS", 1.0)
    monkeypatch.setattr(sandbox, "_pool", sandbox.Pool(1, sandbox._worker))
    assert run(RIGHT)["score"] == 1.0
    (server,) = (p for p in psutil.Process().children() if p.pid == sandbox._pool._idle[0]._process.pid)
    before = set(psutil.pids())
    assert run(code)["timeout"] == 1.0
    deadline = time.monotonic() + 30
    while len(processes := [p for p in psutil.process_iter() if p.pid not in before and is_of(p, server)]) > 3:
        assert time.monotonic() < deadline, processes
        time.sleep(0.2)
    sandbox._pool._idle[0].close()


def is_of(process: psutil.Process, server: psutil.Process) -> bool:
    """Whether a process was forked by the server: a child that lost its parent keeps the command line."""
    try:
        return process.pid != server.pid and process.cmdline() == server.cmdline()
    except psutil.Error:
        return False


def test_no_process_and_no_folder_is_left() -> None:
    run(RIGHT)
    deadline, kept = time.monotonic() + 30, folders_in_use()
    while kept and time.monotonic() < deadline:
        time.sleep(0.1)
        kept &= folders_in_use()  # those of other processes change
    assert not kept
    # One folder for each pair that waits for work, in two pools, and no process of code that was run.
    waiting = [p for p in psutil.Process().children(recursive=True) if "reward.sandbox" in " ".join(p.cmdline())]
    assert len(waiting) <= 2 * 4 * max(2, os.cpu_count() or 2)


def folders_in_use() -> set[Path]:
    """Return the folders that hold something, of all sandboxes on this machine."""
    folders = set()
    for folder in Path(tempfile.gettempdir()).glob("kit-code-*"):
        with contextlib.suppress(FileNotFoundError):  # by now
            folders |= {folder} if [*folder.iterdir()] else set()
    return folders

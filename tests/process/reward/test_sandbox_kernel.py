"""What the kernel holds for the sandbox: also without namespaces, on old kernels, and for root."""

import json
import os
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reward.sandbox.run import SYSTEM
from tests.attacks.filesystem import TRUNCATIONS

READABLE = [sys.base_prefix, sys.prefix, sysconfig.get_paths()["purelib"], *SYSTEM]
ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can")
SANDBOXES = [(abi, namespaces) for abi in (1, 2, 99) for namespaces in (True, False)]

# Locks a process as the harness does, then runs ``job["code"]`` there; prints what that puts in ``found``.
LOCKED = """
import ctypes, json, os, struct, sys, tempfile, threading, time
from reward.sandbox import lockdown
job = json.loads(sys.argv[1])
folder, path = job["folder"], job["path"]
found = {}
if job["without"] is not None:  # a capability that the process lacks
    status = dict(line.split(":\\t", 1) for line in open("/proc/self/status"))
    high, low = divmod(int(status["CapEff"], 16) & ~(1 << job["without"]), 1 << 32)
    data = struct.pack("IIIIII", low, low, 0, high, high, 0)
    assert ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), data) == 0
if job["namespaces"]:
    assert lockdown.try_isolate(folder)
answers = os.dup(1)
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os.chdir(folder)
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def attempt(code):
    try:
        exec(code, globals())
    except OSError as error:
        return error.errno
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "done"
lockdown.lock(folder, job["readable"], 20, newest_abi=job["abi"])
for name, code in job["code"].items():
    found[name] = attempt(code)
os.write(answers, json.dumps(found).encode())
os._exit(0)
"""


def run_locked(tmp_path: Path, code: dict[str, str], **job: Any) -> dict[str, Any]:
    (tmp_path / "folder").mkdir(exist_ok=True)
    job = {
        "readable": READABLE,
        "path": "",
        "abi": 99,
        "without": None,
        "folder": str(tmp_path / "folder"),
        "code": code,
    } | job
    done = subprocess.run([sys.executable, "-c", LOCKED, json.dumps(job)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("readable", [True, False], ids=["readable", "hidden"])
@pytest.mark.parametrize(("abi", "namespaces"), SANDBOXES)
def test_no_file_outside_is_truncated(tmp_path, abi, namespaces, readable) -> None:
    victim = tmp_path / "victim" / "thesis.txt"
    victim.parent.mkdir()
    readable_paths = [*READABLE, str(victim.parent)] if readable else READABLE
    victim.write_text("years of work")
    found = run_locked(tmp_path, TRUNCATIONS, path=str(victim), abi=abi, namespaces=namespaces, readable=readable_paths)
    assert victim.read_text() == "years of work", found
    assert len(list(victim.parent.iterdir())) == 1
    assert len(found) >= 25
    for name in found:
        assert found[name] != "done" or name == "O_PATH", name


OWN_FILES = {
    "write": "open('own', 'w').write('abc')",
    "write again": "open('own', 'w').write('ab')",
    "read": "assert open('own').read() == 'ab'",
    "append": "open('own', 'a').write('c')",
    "update": "open('own', 'r+').write('X')",
    "truncate what is open": "open('own', 'r+').truncate(1)",
    "truncated": "assert open('own').read() == 'X'",
    "folder": "os.makedirs('a/b'); open('a/b/c', 'wb').write(b'1'); os.listdir('a')",
    "rename": "os.rename('a/b/c', 'a/b/d'); os.remove('a/b/d'); os.rmdir('a/b')",
    "temporary": "f = tempfile.TemporaryFile(dir='.'); f.write(b'1'); f.seek(0); assert f.read() == b'1'",
    "null": "open('/dev/null', 'w').write('x')",
    "import": "import email.mime.text, sqlite3, decimal",
}


@pytest.mark.parametrize(("abi", "namespaces"), SANDBOXES)
def test_own_files_work(tmp_path, abi, namespaces) -> None:
    found = run_locked(tmp_path, OWN_FILES, abi=abi, namespaces=namespaces)
    assert found == dict.fromkeys(OWN_FILES, "done")


THREADS = {
    "many": "started = 0\nwhile started < 5000:\n"
    "    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n    started += 1",
    "count": "raise SystemExit(started)",
}


@pytest.mark.parametrize("namespaces", [True, False])
@pytest.mark.parametrize("stack", [0, 32768])
def test_threads_are_limited(tmp_path, namespaces, stack) -> None:
    """Small stacks: the address space alone holds 110 of the usual size, and thousands of these."""
    code = {"stack": f"threading.stack_size({stack})", "back": "import os; os.setresuid(0, 0, 0)", **THREADS}
    found = run_locked(tmp_path, code, namespaces=namespaces)
    assert found["many"] == "RuntimeError: can't start new thread"
    assert found["back"] == 1
    assert int(found["count"].split()[1]) <= 64


HONEST_THREADS = """
import numpy
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(20) as pool:
    barrier = threading.Barrier(20)
    def work(i):
        barrier.wait(20)
        return float((numpy.ones((50, 50)) @ numpy.full((50, 50), i)).sum())
    assert list(pool.map(work, range(20))) == [125000.0 * i for i in range(20)]
"""


@ROOT
@pytest.mark.parametrize("namespaces", [True, False])
def test_20_threads_and_numpy_work_beside_a_program_that_has_all_its_threads(tmp_path, namespaces) -> None:
    """Without namespaces the kernel counts by user: each sandbox has one of its own."""
    (tmp_path / "other").mkdir()
    hog = {"many": THREADS["many"], "hold": "time.sleep(8)"}
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(run_locked, tmp_path / "other", hog, namespaces=namespaces)
        time.sleep(2)
        found = run_locked(tmp_path, {"numpy": HONEST_THREADS}, namespaces=namespaces)
        assert not other.done()
        assert other.result()["many"] == "RuntimeError: can't start new thread"
    assert found["numpy"] == "done"


@ROOT
def test_root_without_cap_sys_admin_gets_a_user_namespace(tmp_path) -> None:
    """As in a container whose filter permits ``unshare``."""
    found = run_locked(tmp_path, OWN_FILES | THREADS, namespaces=True, without=21)
    assert int(found.pop("count").split()[1]) <= 64
    assert found == dict.fromkeys(OWN_FILES, "done") | {"many": "RuntimeError: can't start new thread"}


@ROOT
def test_root_without_the_right_to_change_its_user_is_refused(tmp_path) -> None:
    drop = "import ctypes, struct\nctypes.CDLL(None).capset(struct.pack('Ii', 0x20080522, 0), bytes(24))\n"
    call = f"from reward.sandbox import lockdown\nlockdown.lock({str(tmp_path)!r}, {READABLE!r}, 9)"
    done = subprocess.run([sys.executable, "-c", drop + call], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1].endswith(
        "LockdownError: the threads of root cannot be limited here: use another user, or grant CAP_SETUID"
    )

"""vLLM's queue between its processes: a lost notification and a reader that fails hold nobody up."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.support.upstream import run

QUEUE = """
import pickle, sys, threading, time
from vllm.distributed.device_communicators import shm_broadcast
if {patched}:
    from vllm.plugins import load_general_plugins
    load_general_plugins()  # as in each of vLLM's processes
bounded = hasattr(shm_broadcast, "SHM_READER_RECHECK_INTERVAL_MS")

def sleeping_at_once(self):
    self.last_read, self.busy_loop_s = time.monotonic(), {busy_s}

shm_broadcast.SpinCondition.record_read = sleeping_at_once
writer = shm_broadcast.MessageQueue(1, 1, max_chunks=2)
reader = shm_broadcast.MessageQueue.create_from_handle(writer.export_handle(), 0)
ready = threading.Thread(target=reader.wait_until_ready)
ready.start()
writer.wait_until_ready()
ready.join()
came = []

def read():
    while True:
        message = reader.dequeue(indefinite=True)
        came.append((message, time.monotonic()))

def start_reading():
    reader._spin_condition.last_read = -1e9
    threading.Thread(target=read, daemon=True).start()

def seconds_until(count, most):
    began = time.monotonic()
    while len(came) < count and time.monotonic() < began + most:
        time.sleep(0.002)
    return time.monotonic() - began if len(came) >= count else None
"""


def queue(code: str, patched: bool, busy_s: float = 0.0) -> list[str]:
    """Run ``code`` with a queue of vLLM in a process of its own; return the words of its last line."""
    done = run(QUEUE.format(patched=patched, busy_s=busy_s) + textwrap.dedent(code), platform="")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


LOST = """
start_reading()
time.sleep(0.3)  # asleep
notify, writer._spin_condition.notify = writer._spin_condition.notify, lambda: None
writer.enqueue("message")
print(seconds_until(1, 3), bounded, flush=True)
import os
os._exit(0)
"""


def test_a_lost_notification_costs_no_time() -> None:
    seconds, _ = queue(LOST, patched=True)
    assert float(seconds) < 0.5


def test_without_the_patch_it_is_waited_for() -> None:
    """For ever up to vLLM 0.26, and for five seconds since."""
    seconds, _ = queue(LOST, patched=False)
    assert seconds == "None", "vLLM now looks by itself: drop message_queue.bound_waits"


DROPPED = """
start_reading()
notified, late = 0, 0
for count in range(40):
    for wait in (0.0002, 0):  # the second within the millisecond in which libzmq does not look
        writer.enqueue(count)
        notified += 1
        time.sleep(wait)
    if seconds_until(notified, 0.03) is None:
        late += 1
        writer._spin_condition.notify()
        seconds_until(notified, 5)
print(late, flush=True)
import os
os._exit(0)
"""


def test_libzmq_drops_notifications_that_follow_one_another() -> None:
    """The cause, with nothing lost on purpose: ``SNDHWM`` is 1, and room is noticed late."""
    (late,) = queue(DROPPED, patched=False)
    assert int(late) > 0


RAISES = """
class Fails:
    def __reduce__(self):
        return (exec, ("raise ValueError('cannot be unpickled')",))

def wait(timeout):
    try:
        return reader.dequeue(timeout=timeout)
    except ValueError as error:
        return str(error).replace(" ", "_")

writer.enqueue(Fails())
got = [wait(5)]
try:
    for number in range(3):  # more than the queue has places for
        writer.enqueue(number, timeout=2)
        got.append(wait(5))
except TimeoutError:
    got.append("full")
print(*got, bounded)
"""


def test_a_message_that_cannot_be_read_is_passed_over() -> None:
    passed_over = ["cannot_be_unpickled", "0", "1", "2"]
    *got, bounded = queue(RAISES, patched=True)
    assert got == passed_over
    if bounded == "False":  # as in the lock for CUDA
        assert queue(RAISES, patched=False)[:-1] != passed_over, "vLLM does so itself: drop message_queue.release_slots"


IDLE = """
start_reading()
slowest = 0
for period in range(200):
    time.sleep(0.01)  # five times what the kit has vLLM wait in a loop
    for part in range(period % 3 + 1):
        writer.enqueue(period)
    count = len(came)
    expected = sum(each % 3 + 1 for each in range(period + 1))
    seconds = seconds_until(expected, 10)
    assert seconds is not None, period
    slowest = max(slowest, seconds)
print(slowest, flush=True)
import os
os._exit(0)
"""


@pytest.fixture
def load():
    """As many processes that compute as there are cores."""
    cores = len(os.sched_getaffinity(0))
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    yield
    for process in burning:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("load")
def test_200_idle_periods_under_load_have_no_stall() -> None:
    (slowest,) = queue(IDLE, patched=True, busy_s=0.002)
    assert float(slowest) < 2

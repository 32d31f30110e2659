"""The processes of a run without a GPU are forks of one that has imported the stack, and behave as if started anew."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from trainer.cpu import fork_launcher
from trainer.cpu.fork_client import STAND_IN
from trainer.launch.environment import of_device
from trainer.settings.settings import read_settings

BEGIN = "from multiprocessing.spawn import spawn_main; import os, sys, time; "  # how the server knows a spawned process
FORKED = "'vllm.v1.worker.cpu_worker' in sys.modules"


class Stack:
    """A fork server, and processes that come from it."""

    def __init__(self, folder: Path) -> None:
        settings = read_settings({"DEVICE": "cpu"}, [], gpus=0)
        self.environment = {**os.environ, **of_device(settings), "OMP_NUM_THREADS": "1"}
        before = {each.pid for each in psutil.Process().children()}
        started = fork_launcher.start(folder, self.environment)
        assert started is not None
        self.environment[STAND_IN], self.end = str(started.python), started.end
        (self.server,) = (each for each in psutil.Process().children() if each.pid not in before)

    def popen(self, code: str, **options: object) -> "subprocess.Popen[str]":
        """Start a process as multiprocessing would."""
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        words = [self.environment[STAND_IN], *flags, "-c", BEGIN + code, "--multiprocessing-fork"]
        options = {"env": self.environment, "stdout": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen(words, **options)  # type: ignore[call-overload, no-any-return]

    def says(self, code: str, **options: object) -> str:
        """Return what a process prints."""
        with self.popen(f"print({code})", **options) as process:
            out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return out.strip()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    made = Stack(tmp_path_factory.mktemp("fork server's"))  # a space in the path, and a quote
    yield made
    made.server.kill()
    made.server.wait()


def test_a_process_has_what_it_was_given(stack: Stack, tmp_path: Path) -> None:
    said = stack.says(
        f"{FORKED}, os.environ['MINE'], __import__('tempfile').gettempdir(), os.getcwd(), sys.argv, input()",
        env={**stack.environment, "MINE": "it is", "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        stdin=_file(tmp_path, "a line\n"),
    )
    assert said == f"True it is {tmp_path} {tmp_path} ['-c', '--multiprocessing-fork'] a line"


def _file(folder: Path, text: str) -> int:
    path = folder / "stdin"
    path.write_text(text)
    return os.open(path, os.O_RDONLY)


def test_files_keep_their_numbers(stack: Stack) -> None:
    read, write = os.pipe()
    with stack.popen(f"os.write({write}, b'here')", pass_fds=[write]) as process:
        os.close(write)
        assert process.wait(120) == 0
    assert os.read(read, 10) == b"here"
    assert os.read(read, 10) == b""  # nobody else holds the other end
    os.close(read)


@pytest.mark.parametrize(
    ("code", "status"),
    [("sys.exit(7)", 7), ("pass", 0), ("1 / 0", 1), ("sys.exit('no')", 1), ("os.kill(os.getpid(), 9)", -9)],
)
def test_the_exit_status_is_the_processs(stack: Stack, code: str, status: int) -> None:
    with stack.popen(code, stderr=subprocess.DEVNULL) as process:
        assert process.wait(120) == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_stand_in_ends_the_process(stack: Stack, number: int) -> None:
    with stack.popen("print(os.getpid(), flush=True); time.sleep(600)") as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        process.send_signal(number)
        assert process.wait(20) == -number
        psutil.wait_procs([child], timeout=20)
        assert not child.is_running()


def test_exit_functions_run_and_output_is_flushed(stack: Stack) -> None:
    with stack.popen("import atexit; atexit.register(print, 'last'); print('first')") as process:
        assert process.communicate(timeout=120)[0].split() == ["first", "last"]


def test_processes_draw_different_random_numbers(stack: Stack) -> None:
    drawn = {stack.says("__import__('numpy').random.rand(), __import__('random').random()") for _ in range(3)}
    assert len({number for each in drawn for number in each.split()}) == 6


OTHERS = [{"PYTHONPATH": "/elsewhere"}, {"OMP_NUM_THREADS": "3"}, {"LD_PRELOAD": "/elsewhere/libgomp.so"}]


@pytest.mark.parametrize("other", OTHERS)
def test_other_settings_of_the_interpreter_start_it_anew(stack: Stack, other: dict[str, str]) -> None:
    assert stack.says(FORKED, env={**stack.environment, **other}) == "False"


def test_libraries_that_are_loaded_need_no_preloading(stack: Stack) -> None:
    (library,) = (Path(sys.prefix) / "lib").glob("python*/site-packages/torch/lib/libgomp*")
    assert stack.says(FORKED, env={**stack.environment, "LD_PRELOAD": str(library)}) == "True"


def test_what_is_not_the_runs_is_started_anew(stack: Stack) -> None:
    done = subprocess.run(
        [stack.environment[STAND_IN], "-c", f"import sys; print({FORKED}, sys.executable)"],
        env=stack.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["False", sys.executable]


def test_what_the_kit_warns_of_is_printed(stack: Stack) -> None:
    """Whatever the libraries have made of the root logger; trainer/monitor/progress.py looks for it."""
    code = "import logging; log = logging.getLogger('trainer.driver.checkpoints.saver'); "
    code += "log.warning('checkpoint of step 3 waits: no room')"
    with stack.popen(code, stderr=subprocess.PIPE) as process:
        _, said = process.communicate(timeout=120)
    assert "checkpoint of step 3 waits: no room" in said


def test_multiprocessing_goes_through_it(stack: Stack, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import multiprocessing, os, sys

        def work(queue):
            queue.put({FORKED})

        if __name__ == "__main__":
            multiprocessing.set_executable(os.environ["{STAND_IN}"])
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(queue.get(timeout=120))
            process.join()
            print(process.exitcode)
        """)
    )
    done = subprocess.run(
        [sys.executable, script], env=stack.environment, capture_output=True, text=True, timeout=150, check=True
    )
    assert done.stdout.split() == ["True", "0"]


def test_without_a_server_python_is_python(tmp_path: Path) -> None:
    """The server of the workers is a fork of that of the drivers, which ends with it."""
    stack = Stack(tmp_path)
    _child(_child(stack.server)).kill()
    stack.server.wait(20)
    assert stack.says(FORKED) == "False"


def _child(process: psutil.Process) -> psutil.Process:
    deadline = time.monotonic() + 120
    while not process.children():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return process.children()[0]


def test_the_servers_end_is_its_childrens(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    with stack.popen("print(os.getpid(), flush=True); time.sleep(600)") as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        stack.server.kill()
        psutil.wait_procs([child], timeout=20)
        assert not child.is_running()
        assert process.wait(20) == 1
    stack.server.wait()


def test_starting_does_not_wait_for_the_imports_nor_does_ending(tmp_path: Path) -> None:
    started = time.monotonic()
    stack = Stack(tmp_path)
    assert time.monotonic() - started < 5
    while not (importing := stack.server.children()) and time.monotonic() - started < 60:
        time.sleep(0.02)
    stack.end()
    _, left = psutil.wait_procs([stack.server, *importing], timeout=10)
    assert (len(importing), left) == (1, [])
    stack.end()  # of no effect

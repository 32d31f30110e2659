"""Several machines, runs side by side, and what is killed in the middle: the whole stack, with no GPU.

A machine here is an address of the loopback interface with a Ray node of its own. Marked e2e: each takes minutes.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.command import can_mount, clean_environment, footprint, metrics, train_sh
from tests.support.listening import Attack, started_by
from tests.support.ports import free_port
from trainer import ROOT

FLAGS = ("--total_steps", "4", "--save_freq", "2", "--test_freq", "2", "--batch_size", "48", "--mini_batch_size", "24")
LONG = (*FLAGS, *("--total_steps", "200", "--save_freq", "200", "--test_freq", "200"))
COMPARED = ("critic/score/mean", "response_length/mean", "actor/pg_loss", "critic/vf_loss", "actor/grad_norm")
SOON = 60  # seconds
EVERYWHERE = ("::", "0.0.0.0")
RAYS_METRICS = ("ray::DashboardAgent", "ray/dashboard/dashboard.py", "ray/autoscaler/_private/monitor.py")
LONG_LIVED = "0123456789abcdef" * 4  # a person's own token


class Machine:
    """``./train.sh`` on a machine, in the background; ``words`` come before it."""

    def __init__(self, log: Path, words: Sequence[str], *flags: str, **environment: str) -> None:
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [*words, str(ROOT / "train.sh"), *flags],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=clean_environment(**environment),
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """What it has printed."""
        return self.log.read_text()

    def until(self, text: str, seconds: float = 900) -> None:
        """Wait until it has said ``text``."""
        deadline = time.monotonic() + seconds
        while text not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.2)

    def ends(self, seconds: float = SOON) -> int:
        """Return the exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"not ended within {seconds:.0f} s: {self.said}")

    def kill_part(self, title: str) -> None:
        """Kill a process of the run, by its title."""
        found = [
            each
            for each in psutil.Process(self.process.pid).children(recursive=True)
            if title in " ".join(each.cmdline())
        ]
        assert found, f"no {title}"
        found[0].kill()


@pytest.fixture
def start(output, tmp_path) -> Iterator[Callable[..., Machine]]:
    """Start machines; nothing is left of them afterwards."""
    before, made = footprint(), list[Machine]()

    def run(*flags: str, words: Sequence[str] = (), **environment: str) -> Machine:
        made.append(Machine(tmp_path / f"{len(made)}.log", words, *flags, **environment, OUTPUT_DIR=str(output)))
        return made[-1]

    yield run
    for machine in made:
        if machine.process.poll() is None:
            machine.process.send_signal(signal.SIGTERM)
            machine.process.wait(60)
    assert footprint() - before == set()


@pytest.fixture
def several(start) -> Callable[..., Machine]:
    """Start one of the machines of a run."""
    place = {"N_GPUS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}

    def run(nodes: int, rank: int, *flags: str, words: Sequence[str] = (), **environment: str) -> Machine:
        own = {"NODE_ADDR": f"127.0.0.{rank + 1}"} if rank else {}
        return start(*flags, words=words, **place, **own, **environment, NNODES=str(nodes), NODE_RANK=str(rank))

    return run


@pytest.fixture
def apart(output, tmp_path) -> Path:
    """The outputs of a machine that does not share those of the others, but has the model."""
    own = tmp_path / "apart"
    shutil.copytree(output / "cache" / "models", own / "cache" / "models")
    return own


def seeing(own: Path, output: Path) -> tuple[str, ...]:
    """Return the words before a command for which ``output`` is the folder ``own``, where there may be such a thing."""
    if not can_mount():
        return ()
    return ("unshare", "-rm", "sh", "-c", f'mount --bind {own} {output} && exec "$@"', "sh")


@pytest.fixture(scope="module")
def a_users_own_ray(tmp_path_factory) -> Iterator[subprocess.Popen]:
    """A cluster that is somebody else's, on this machine."""
    folder, port = tmp_path_factory.mktemp("ray"), free_port()
    own = Path(f"/tmp/own-{os.getpid()}")  # a socket's path is short
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", f"--port={port}"]
    command += [f"--temp-dir={own}", "--include-dashboard=false", "--num-cpus=1"]
    command += ["--object-store-memory=100000000", "--disable-usage-stats"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + 120
    while "Ray runtime started" not in (folder / "log").read_text():
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.5)
    yield process
    assert process.poll() is None, "somebody's own Ray was ended"
    parts = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    psutil.wait_procs(parts, 30)
    shutil.rmtree(own)


@pytest.fixture(scope="module")
def three_ranks(output) -> dict[int, dict[str, float]]:
    """The metrics of one machine with three ranks and three replicas."""
    result = train_sh("--run_name", "ranks", "--n_gpus", "3", *FLAGS, timeout=1800, OUTPUT_DIR=str(output))
    assert result.status == 0, result.err
    shards = (output / "checkpoints" / "ranks" / "global_step_4" / "actor").glob("model_world_size_3_rank_*.pt")
    assert len(list(shards)) == 3
    assert (output / "checkpoints" / "ranks" / "model" / "model.safetensors").is_file()
    return metrics(output / "runs" / "ranks")


@pytest.mark.usefixtures("a_users_own_ray")
def test_three_machines_train_as_three_ranks_do_also_when_one_is_lost_on_the_way(
    several, three_ranks, output, apart
) -> None:
    """The one that comes for the lost one shares no outputs, where there can be such: it gets its part of them."""
    flags = ("--run_name", "machines", *FLAGS, "--max_restarts", "1")
    lost = several(3, 2, *flags)  # minutes before the head, for all it knows
    lost.until("waiting for the head node at 127.0.0.1")
    other, leader = several(3, 1, *flags), several(3, 0, *flags)
    leader.until("step 3/4")
    lost.process.kill()
    leader.until("restarting (1 of 1, --max_restarts)", SOON)
    assert "node 2 (" in leader.said
    assert "127.0.0.3) has gone: the connection was closed" in leader.said
    again = several(3, 2, *flags, words=seeing(apart, output))
    leader.until("machines: continuing after step 2")
    copied = f"127.0.0.3): does not share {output}; checkpoints are copied to and from the head node" in leader.said
    assert copied == can_mount(), leader.said
    assert leader.ends(900) == 0, leader.said
    for machine in (other, again):
        assert machine.ends() == 0
        assert machine.said.splitlines()[-1] == "train.sh: the head node has finished the run"
    assert "between the machines: object store " in leader.said
    log = (output / "runs" / "machines" / "train.log").read_text()
    assert "(TaskRunnerV1 pid=" in log
    assert "(TaskRunnerV1 pid=" not in re.sub(r"pid=\d+\)", "", log), "it is on another machine than its files"
    found = metrics(output / "runs" / "machines")
    assert found.keys() == three_ranks.keys() == {0, 1, 2, 3, 4}
    for step in (1, 2, 3, 4):
        for name in COMPARED:
            assert found[step][name] == pytest.approx(three_ranks[step][name], rel=1e-3, abs=1e-5), (step, name)
    saved = output / "checkpoints" / "machines"
    assert len(list((saved / "global_step_4").glob("*/model_world_size_3_rank_*.pt"))) == 6  # actor and critic
    assert (saved / "model" / "model.safetensors").is_file()
    assert not (apart / "checkpoints").exists() or not list((apart / "checkpoints").iterdir())


@pytest.fixture
def strangers(several, output, small_model) -> Attack:
    """What listened in a run that trained, and what it said to whoever came; it went on as if nobody had.

    Both machines have a person's token, which no process of the run sees.
    """
    own, folder = ("--run_name", "attacked", "--model", str(small_model)), output / "runs" / "attacked"
    machines = [several(2, rank, *own, *LONG, RAY_AUTH_TOKEN=LONG_LIVED) for rank in (0, 1)]
    machines[0].until("step 1/200")
    launchers, seen = [machine.process.pid for machine in machines], 0
    for process in started_by(*launchers):
        with suppress(psutil.Error):
            assert LONG_LIVED not in process.environ().values(), process.cmdline()
            seen += 1
    assert seen > 20
    attack = Attack()
    attack.make(output / "trace", launchers, LONG_LIVED)
    machines[0].until(f"step {max(metrics(folder)) + 2}/200", SOON)
    machines[0].process.send_signal(signal.SIGINT)
    assert [machine.ends() for machine in machines] == [130, 130]
    assert not (output / "trace").exists()
    return attack


def test_whoever_has_no_secret_reaches_nothing_of_a_run_on_two_machines(strangers) -> None:
    """A person's own token opens nothing either: Ray has one of the run's. What all may reach is Ray's, and asks."""
    for part in ("TransferQueueController", "SimpleStorageUnit", "gcs_server", "raylet", "VLLM::Worker", "WorkerDict"):
        assert strangers.at(part), part
    assert 10001 not in {port for _, port in strangers.sockets}
    assert not strangers.at("ray.util.client.server")
    statuses = [status for calls in strangers.calls.values() for status in calls.values()]
    assert set(statuses) == {"UNAUTHENTICATED", "UNIMPLEMENTED"}
    assert statuses.count("UNAUTHENTICATED") > 30
    servers = [at for at in strangers.at("BatchHttpServer") if not strangers.calls[at]]
    assert len(servers) == 2
    for at in servers:
        assert "HTTP: b'HTTP/1.1 401 " in strangers.answers[at]
        assert "HTTP POST: b'HTTP/1.1 401 " in strangers.answers[at]
    others = [strangers.sockets[at] for at in strangers.sockets if at[0] in EVERYWHERE and not strangers.calls[at]]
    assert all(any(part in name for part in RAYS_METRICS) for name in others), others


@pytest.mark.parametrize(
    ("ended", "signum", "statuses", "line"),
    [
        (0, signal.SIGKILL, (-signal.SIGKILL, 1), "lost the connection to the head node: "),
        (0, signal.SIGINT, (130, 130), "the head node was stopped by SIGINT"),
        (1, signal.SIGINT, (1, 130), "127.0.0.2) has ended: stopped there by "),
    ],
)
def test_a_machine_that_ends_while_all_is_loaded_ends_the_run_on_both(several, ended, signum, statuses, line) -> None:
    before = footprint()
    machines = [several(2, rank, "--run_name", f"ended-{ended}-{signum}", *FLAGS) for rank in (0, 1)]
    machines[0].until("Ray is up on 2 machines")
    machines[ended].process.send_signal(signum)
    assert tuple(machine.ends() for machine in machines) == statuses
    assert line in machines[1 - ended].said.splitlines()[-1]
    wait_for_the_watchdogs(before)


def wait_for_the_watchdogs(before: set[str]) -> None:
    """What a killed launcher leaves is ended by its watchdogs, within seconds; ``start`` looks what is left."""
    deadline = time.monotonic() + 10
    while footprint() - before and time.monotonic() < deadline:
        time.sleep(0.5)


def test_parts_that_are_killed_are_named_and_the_run_goes_on(start) -> None:
    """VLLM's engine in the middle of training: it goes on from its checkpoint; then a reward worker: it ends."""
    run = start("--run_name", "parts", "--save_freq", "1", "--total_steps", "9", "--max_restarts", "1")
    run.until("step 2/9")
    run.kill_part("VLLM::")
    run.until("restarting (1 of 1, --max_restarts)", SOON)
    assert "the run failed: vLLM's engine died without an exception" in run.said
    run.until("parts: continuing after step")
    run.until("step 4/9")
    run.kill_part("ray::RewardLoopWorker")
    assert run.ends() == 1
    assert "train.sh: the run failed: RewardLoopWorker died without an exception" in run.said


@pytest.mark.usefixtures("a_users_own_ray")
def test_two_runs_at_once_leave_each_other_alone(output, start) -> None:
    """On one machine, one of them with a model that has other weights: neither takes those of the other."""
    flags = {"left": ("--seed", "1"), "right": ("--lr", "1e-3")}
    common = ("--total_steps", "2", "--batch_size", "32", "--mini_batch_size", "32", "--max_response_length", "6")
    runs = [start("--run_name", name, *common, *flags[name]) for name in ("left", "right")]
    for run in runs:
        assert run.ends(1800) == 0, run.said
    alone = train_sh(*("--run_name", "alone", *common), *flags["right"], timeout=1800, OUTPUT_DIR=str(output))
    assert alone.status == 0, alone.err
    found, expected = metrics(output / "runs" / "right"), metrics(output / "runs" / "alone")
    for step in (1, 2):
        for name in COMPARED:
            assert found[step][name] == pytest.approx(expected[step][name], rel=1e-6), (step, name)

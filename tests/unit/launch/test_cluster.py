"""What is said and done on several machines, below Ray: who restarts, which address, which scripts."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

from tests.attacks import ports
from tests.support import listening
from tests.support.command import clean_environment, train_sh
from tests.support.ports import free_port
from trainer import ROOT
from trainer import __main__ as main
from trainer.composition import config_environment
from trainer.driver import checkpoint_copies
from trainer.launch import environment, supervisor
from trainer.launch.cluster import ray_node, token
from trainer.launch.cluster import ray_node as node
from trainer.runs import checkpoints, folders, run_secret
from trainer.settings.knobs import load_knobs
from trainer.settings.settings import read_settings
from trainer.setup import host
from trainer.user_error import UserError

SCRIPTS = ROOT / "config" / "cluster"
PERSONS = "0123456789abcdef" * 4  # token


def settings(**given: str):
    return read_settings(given, [], gpus=0)


class NoOthers:
    """A leader with nobody to lead, which counts what it is asked."""

    def __init__(self) -> None:
        self.restarts = 0

    def restart(self) -> None:
        """Count it."""
        self.restarts += 1


def runs(monkeypatch, *outcomes: BaseException | int) -> list[str]:
    """Have each run end as ``outcomes`` say; return the names that they have, as they run."""
    names, left = list[str](), list(outcomes)

    def run(found, head_node) -> int:
        names.append(found.text("RUN_NAME"))
        outcome = left.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(main, "run", run)
    return names


def test_a_run_that_fails_is_started_again_by_its_name(monkeypatch, capsys, tmp_path) -> None:
    names, head_node = runs(monkeypatch, supervisor.RunFailed("a GPU fell off"), 0), NoOthers()
    assert main.run_with_restarts(settings(MAX_RESTARTS="2", OUTPUT_DIR=str(tmp_path)), head_node) == 0
    assert len(names) == 2
    assert len(set(names)) == 1
    assert names[0].startswith("tiny-arith-2")  # the one that the first launch would have had
    assert head_node.restarts == 1
    assert capsys.readouterr().out == "a GPU fell off\nstarting again (1 of 2, --max_restarts)\n"


@pytest.mark.parametrize(
    ("error", "count"),
    [
        (supervisor.RunFailed("again"), 3),
        (supervisor.AlarmError("ended by --stop_on kl"), 1),
        (supervisor.Paused("the budget is spent"), 1),
        (supervisor.Stopped(2), 1),
        (UserError("no such model"), 1),
    ],
)
def test_it_is_not_started_again_for_ever_nor_against_the_persons_will(monkeypatch, tmp_path, error, count) -> None:
    names = runs(monkeypatch, *[error] * 5)
    with pytest.raises(type(error)):
        main.run_with_restarts(settings(MAX_RESTARTS="2", OUTPUT_DIR=str(tmp_path)), NoOthers())
    assert len(names) == count


def test_without_max_restarts_it_fails_at_once(monkeypatch, tmp_path) -> None:
    names = runs(monkeypatch, *[supervisor.RunFailed("once")] * 2)
    with pytest.raises(supervisor.RunFailed):
        main.run_with_restarts(settings(OUTPUT_DIR=str(tmp_path)), NoOthers())
    assert names == ["auto"]


def test_the_head_node_is_known_by_an_address_that_others_reach(monkeypatch) -> None:
    monkeypatch.setattr(
        config_environment.socket, "gethostbyname", {"gpu0": "127.0.1.1", "gpu1": "10.0.0.8"}.__getitem__
    )
    several = {"NNODES": "2", "MASTER_PORT": "3000"}
    assert config_environment.ray_address(settings(MASTER_ADDR="10.0.0.7", **several)) == "10.0.0.7:3001"
    assert config_environment.head_address(settings(MASTER_ADDR="gpu1", **several)) == "10.0.0.8"
    assert config_environment.head_address(settings(MASTER_ADDR="gpu0", **several)) == host.node_address()
    assert config_environment.head_address(settings(MASTER_ADDR="gpu0", NODE_ADDR="10.0.0.9", **several)) == "10.0.0.9"
    assert config_environment.ray_address(settings()) == ""
    assert config_environment.ray_address(settings(RAY_ADDRESS="auto", N_GPUS="1")) == "auto"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"RAY_ADDRESS": "ray://h:10001", "N_GPUS": "1"}, "give auto, or host:port of the cluster's head"),
        ({"RAY_ADDRESS": "h:6379"}, "the cluster's machines are not asked; give --n_gpus"),
        ({"RAY_ADDRESS": "h:6379", "N_GPUS": "1", "NNODES": "2", "NODE_RANK": "1"}, "one machine starts the run"),
    ],
)
def test_a_ray_that_runs_already_is_named_rightly(given, line) -> None:
    with pytest.raises(UserError, match=line):
        settings(**given)


def test_a_ray_that_runs_already_needs_no_gpu_here() -> None:
    found = settings(RAY_ADDRESS="h:6379", N_GPUS="8", NNODES="2", DEVICE="cuda")
    assert not config_environment.starts_ray(found)
    assert found.integer("NNODES") == 2


def test_of_several_machines_verls_task_runner_is_on_the_first() -> None:
    from ray._common.constants import HEAD_NODE_RESOURCE_NAME

    from trainer.driver import main as task_runner

    run = folders.Run("run", Path("runs/run"), Path("checkpoints/run"))
    several = settings(NNODES="2", MASTER_ADDR="10.0.0.7")
    assert "trainer.driver.main" in supervisor.command(several, run)
    assert task_runner.ANY_NODE not in environment.of_node(several, run, Path("/tmp/x"), None, "secret")
    theirs = settings(
        NNODES="2", N_GPUS="8", RAY_ADDRESS="10.0.0.7:6379", DEVICE="cuda"
    )  # whose head may run nothing of a job
    assert environment.of_node(theirs, run, Path("/tmp/x"), None, "secret")[task_runner.ANY_NODE]
    assert task_runner.HEAD.keys() == {HEAD_NODE_RESOURCE_NAME}


def test_a_ray_that_does_not_start_says_why(tmp_path) -> None:
    """Its folder is too deep for a socket's path."""
    own, deep = dict(os.environ) | {"RAY_AUTH_MODE": "disabled"}, tmp_path / ("x" * 90)
    found = ray_node.start(own, deep, tmp_path / "ray.log", {"num_cpus": 1}, "127.0.0.1", "", free_port())
    with pytest.raises(ray_node.NodeError, match=r"^Ray did not start: OSError: .* cannot exceed 107 bytes"):
        found.wait()


@pytest.mark.parametrize(
    ("given", "mode", "own"),
    [
        ({}, "token", True),
        ({"NNODES": "2", "MASTER_ADDR": "127.0.0.1"}, "token", True),
        ({"NNODES": "2", "MASTER_ADDR": "127.0.0.1", "INSECURE_RAY": "true"}, "disabled", False),
    ],
    ids=["one machine", "several", "insecure"],
)
def test_where_the_kit_starts_ray_no_process_has_the_persons_token(tmp_path, monkeypatch, given, mode, own) -> None:
    monkeypatch.setenv(token.TOKEN, PERSONS)
    monkeypatch.setenv(token.FILE, "/a/file/of/the/persons")
    run = folders.Run("r", tmp_path, tmp_path)
    one, other = (environment.of_node(settings(**given), run, tmp_path, None, secret) for secret in ("ab", "cd"))
    assert one[token.MODE] == mode
    assert PERSONS not in one.values()
    assert token.FILE not in one
    assert (token.TOKEN in one) == own
    assert not own or one[token.TOKEN] != other[token.TOKEN]
    assert PERSONS not in environment.of_person(settings(**given)).values()  # the fork server's


def test_a_cluster_that_runs_already_knows_the_persons_token(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(token.TOKEN, PERSONS)
    monkeypatch.delenv(token.MODE, raising=False)
    found = environment.of_node(
        settings(RAY_ADDRESS="h:6379", N_GPUS="1"), folders.Run("r", tmp_path, tmp_path), tmp_path, None, "ab"
    )
    assert (found[token.MODE], found[token.TOKEN]) == ("token", PERSONS)


def test_a_head_node_has_no_ray_client_server_and_knows_the_runs_token_alone(tmp_path, monkeypatch) -> None:
    """Ray alone would open port 10001, where who is heard has his pickles run."""
    monkeypatch.setenv(token.TOKEN, PERSONS)
    run, found = folders.Run("r", tmp_path, tmp_path), settings(NNODES="2", MASTER_ADDR="127.0.0.1")
    secret = run_secret.shared(PERSONS, run_secret.random_number())
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # as a socket's path is
        given = environment.of_node(found, run, Path(short), None, secret)
        port, log = free_port(), tmp_path / "ray.log"
        started = node.start(given, Path(short), log, {"num_cpus": 1}, "127.0.0.1", "", port)
        try:
            started.wait()
            parts = listening.started_by(started.process.pid)
            names = [" ".join(part.cmdline()) for part in parts]
            calls = {shown: ports.call("127.0.0.1", port, shown) for shown in ("", PERSONS, given[token.TOKEN])}
        finally:
            assert started.process.stdin is not None
            started.process.stdin.close()
            started.process.wait(60)
    assert any("gcs_server" in name for name in names)
    assert not any("ray.util.client.server" in name for name in names)
    for shown in ("", PERSONS):
        assert set(calls[shown].values()) == {"UNAUTHENTICATED", "UNIMPLEMENTED"}
    assert calls[given[token.TOKEN]][ports.CALLS[0]] == "OK"


def test_of_a_checkpoint_a_machine_gets_what_its_ranks_load(tmp_path) -> None:
    parts = [
        f"{who}/{kind}_world_size_4_rank_{n}.pt"
        for n in range(4)
        for who in ("actor", "critic")
        for kind in ("model", "optim")
    ]
    files = ["complete.json", "data.pt", "actor/huggingface/config.json", "actor/huggingface/model.safetensors", *parts]
    assert checkpoint_copies.needed(files, {2, 3}) == [
        "data.pt",
        "actor/huggingface/config.json",
        *[part for part in parts if part.endswith(("rank_2.pt", "rank_3.pt"))],
    ]
    disk, folder = checkpoint_copies.Disk(), tmp_path / "run" / "global_step_1"
    for part in (b"of ", b"a rank"):
        disk.append(folder, parts[0], part)
    assert disk.files(folder) == {parts[0]: 9}
    assert disk.read(folder, parts[0], 3) == b"a rank"
    disk.remove(folder)
    disk.remove(folder)
    assert list(tmp_path.iterdir()) == []
    folder.mkdir(parents=True)
    checkpoints.commit(folder, {})
    with pytest.raises(FileExistsError, match=r"is a checkpoint of .*'s own"):
        disk.remove(folder)


def test_a_wrong_rank_is_told_to_the_head_node_which_ends_too(tmp_path, small_model) -> None:
    """Both as typed, in two processes: each prints the one line, and ends with status 2."""
    place = {"NNODES": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OUTPUT_DIR": str(tmp_path)}
    flags = ("--model", str(small_model), "--join_timeout", "300")
    head_node = subprocess.Popen(
        [str(ROOT / "train.sh"), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(**place, NODE_RANK="0"),
    )
    assert head_node.stdout is not None
    said = []
    while not said or "waiting at" not in said[-1]:
        said.append(head_node.stdout.readline())
        assert said[-1], said
    wrong = train_sh(*flags, **place, NODE_RANK="2")
    assert (wrong.status, wrong.complaints) == (2, ["train.sh: NODE_RANK=2: with NNODES=2 the ranks are 0 to 1"])
    _, errors = head_node.communicate(timeout=60)
    assert head_node.returncode == 2
    (line,) = errors.splitlines()
    assert line.startswith("train.sh: node 2 (")
    assert line.endswith("): NODE_RANK=2: with NNODES=2 the ranks are 0 to 1")
    assert not (tmp_path / "runs").exists()


def fake(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{text}\n")
    (folder / name).chmod(0o755)


def test_the_slurm_script_says_what_slurm_knows(tmp_path) -> None:
    """With SLURM's commands stood in for: two tasks, which print what ./train.sh would be given."""
    fake(tmp_path, "scontrol", "echo node7; echo node8")
    fake(
        tmp_path,
        "srun",
        '[[ $1 == --kill-on-bad-exit=1 ]] || exit 9; shift; for n in 0 1; do SLURM_NODEID=$n "$@"; done',
    )
    fake(tmp_path, "train.sh", 'echo "$NODE_RANK/$NNODES $N_GPUS $MASTER_ADDR $MASTER_PORT" "$@"')
    own = {"SLURM_NNODES": "2", "SLURM_GPUS_ON_NODE": "4", "SLURM_JOB_NODELIST": "node[7-8]", "SLURM_JOB_ID": "123"}
    done = subprocess.run(
        ["bash", str(SCRIPTS / "slurm.sbatch"), "--data", "my data.json"],
        cwd=tmp_path,
        env=os.environ | own | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    end = "4 node7 20246 --run_name slurm-123 --data my data.json"
    assert done.stdout.splitlines() == [f"0/2 {end}", f"1/2 {end}"]


def test_the_ssh_script_ends_as_the_head_node_does(tmp_path) -> None:
    """With an ssh that stays here; flags keep their spaces and quotes."""
    fake(tmp_path, "ssh", 'while [[ $1 == -* ]]; do [[ $1 == -o ]] && shift; shift; done; host=$1; shift; bash -c "$*"')
    fake(tmp_path, "train.sh", 'echo "$NODE_RANK/$NNODES $N_GPUS $MASTER_ADDR" "$@"; exit $((3 - NODE_RANK))')
    done = subprocess.run(
        [str(SCRIPTS / "ssh.sh"), "a b c", "--data", "it's here.json"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "N_GPUS": "8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "[0] 0/3 8 a --data it's here.json" in done.stdout.splitlines()


def test_the_kubernetes_manifest_speaks_of_knobs_that_there_are() -> None:
    job = yaml.safe_load((SCRIPTS / "kuberay.yaml").read_text())
    words = job["spec"]["entrypoint"].split()
    named = [word.split("=")[0] for word in words if "=" in word and not word.startswith("--")]
    flags = [word.removeprefix("--") for word in words if word.startswith("--")]
    assert {"NNODES", "N_GPUS"} == set(named) <= {knob.env for knob in load_knobs()}
    assert set(flags) <= {knob.flag for knob in load_knobs()}
    (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    limits = workers["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert f"NNODES={workers['replicas']} N_GPUS={limits['nvidia.com/gpu']}" in job["spec"]["entrypoint"]


def test_the_client_of_the_meeting_needs_nothing_installed() -> None:
    """It tells of what was typed wrong before set-up."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import trainer.settings.__main__"
    subprocess.run([sys.executable, "-S", "-E", "-c", code, str(ROOT)], check=True)

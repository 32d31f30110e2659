"""./train.sh wheelhouse: what it fetches for another machine, and what it does when it cannot."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import wheels
from tests.support.command import Result, can_mount, clean_environment, copy_of_the_kit, train_sh
from trainer.setup.wheelhouse import requirements
from trainer.setup.wheelhouse.make import main as make_main
from trainer.setup.wheelhouse.target import Target
from trainer.user_error import UserError

LOCK = """\
plain==1.0
older==1.0 ; python_full_version < '3.12'
newer==1.0 ; python_full_version >= '3.12'
native==1.0
large==1.0
torch==2.11.0
triton==3.6.0
wandb==1.0
"""
TARGET = ("--device", "cuda", "--python", "3.12", "--platform", "manylinux_2_31_x86_64")


@pytest.fixture(scope="module")
def kit(tmp_path_factory) -> Path:
    """A checkout with short locks, and an index of files beside it."""
    kit = copy_of_the_kit(tmp_path_factory.mktemp("wheelhouse") / "kit")
    (kit / "config/requirements/cuda.txt").write_text(LOCK)
    (kit / "config/requirements/dev.txt").write_text("plain==1.0\npytester==1.0\n")
    index = kit.parent / "index"
    index.mkdir()
    for name in ("plain", "older", "newer", "wandb", "pytester", "triton-3.6.0", "torch-2.11.0", "uv-0.13.8"):
        wheels.wheel(index, *name.split("-"))
    for tag in ("cp312-cp312-manylinux_2_28_x86_64", "cp312-cp312-manylinux_2_35_x86_64", "cp311-cp311-linux_x86_64"):
        wheels.wheel(index, "native", "1.0", tag)
    wheels.wheel(index, "large", payload=os.urandom(5 << 19))
    wheels.installed(index, "setuptools")
    wheels.source(index, "sdist_only")
    return kit


def make(kit: Path, folder: Path, *flags: str, **extra: str) -> Result:
    """Run the command with the index of files alone."""
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(kit.parent / "index"), "PIP_CONFIG_FILE": "/dev/null"}
    return train_sh("wheelhouse", str(folder), *TARGET, *flags, root=kit, timeout=300, **index | extra)


def listing(folder: Path) -> dict[str, str]:
    """The checksum of each file in the folder of wheels."""
    return {path.name: wheels.sha256(path) for path in (folder / "wheels").iterdir()}


def test_wheels_for_another_machine(kit, tmp_path) -> None:
    """Markers and tags are the target's; what is damaged or lost is fetched again, and nothing else."""
    folder = tmp_path / "house"
    made = make(kit, folder, "--without=optional,torch")
    assert made.status == 0, made.err
    manifest = json.loads((folder / "wheelhouse.json").read_text())
    assert list(manifest["wheels"]) == [
        "large-1.0-py3-none-any.whl",
        "native-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "newer-1.0-py3-none-any.whl",
        "plain-1.0-py3-none-any.whl",
        "pytester-1.0-py3-none-any.whl",
        "uv-0.13.8-py3-none-any.whl",
    ]
    assert manifest["left_out"] == {"wandb": "optional", "torch": "torch", "triton": "torch"}
    assert "left out (torch): torch, triton" in made.out
    before = listing(folder)
    assert before == manifest["wheels"]

    again = make(kit, folder, "--without=optional,torch", PIP_FIND_LINKS="/nowhere")
    assert again.status == 0
    assert f"{folder} is complete: 6 wheels" in again.out

    (folder / "wheels/large-1.0-py3-none-any.whl").write_bytes(b"damaged")
    (folder / "wheels/plain-1.0-py3-none-any.whl").unlink()
    mended = make(kit, folder, "--without=optional,torch")
    assert "6 wheels, of which 4 are there already" in mended.out
    assert listing(folder) == before


def test_less_left_out(kit, tmp_path) -> None:
    """Only the rest is fetched, and what is no longer asked for goes; a wheel of one's own stays."""
    folder = tmp_path / "house"
    assert make(kit, folder, "--without=optional,torch,tools").status == 0
    mine = wheels.wheel(folder, "mine")
    made = make(kit, folder, "--without=tools")
    assert made.status == 0, made.err
    assert "8 wheels, of which 5 are there already" in made.out
    assert f"wheels of your own, which set-up installs too: {mine.name}" in made.out
    assert len(listing(folder)) == 8
    made = make(kit, folder, "--without=tools,optional")
    assert "removed, as it is damaged or not asked for: wandb-1.0-py3-none-any.whl" in made.out
    assert len(listing(folder)) == 7
    assert mine.is_file()


@pytest.fixture
def hashed(kit) -> Iterator[Path]:
    """The lock of a device for a while, with hashes."""
    lock = kit / "config/requirements/cuda.txt"
    good = wheels.sha256(kit.parent / "index/plain-1.0-py3-none-any.whl")
    lock.write_text("plain==1.0\nsdist-only==1.0\n")
    wheels.hashes(lock, {"plain==1.0": good, "sdist-only==1.0": "0" * 64})
    yield lock
    lock.write_text(LOCK)


def test_hashes_of_the_lock_are_kept_to(kit, hashed, tmp_path) -> None:
    """Those of a source too, of which a wheel is built."""
    made = make(kit, tmp_path / "house", "--without=pytester")
    assert made.status == 2
    assert made.complaints[-1].startswith(
        "train.sh: sdist-only==1.0: pip's indexes have no wheel for cuda, Python 3.12"
    )
    assert "DO NOT MATCH THE HASHES" in made.complaints[-1]
    right = wheels.sha256(kit.parent / "index/sdist_only-1.0.tar.gz")
    plain = kit.parent / "index/plain-1.0-py3-none-any.whl"
    wheels.hashes(hashed, {"plain==1.0": wheels.sha256(plain), "sdist-only==1.0": right})
    made = make(kit, tmp_path / "house", "--without=pytester")
    assert made.status == 0, made.err
    manifest = json.loads((tmp_path / "house/wheelhouse.json").read_text())
    assert [file.partition("-")[0] for file in manifest["wheels"]] == ["plain", "sdist_only", "uv"]
    assert [file.partition("-")[0] for file in manifest["built"]] == ["sdist_only"]
    again = make(kit, tmp_path / "house", "--without=pytester", PIP_FIND_LINKS="/nowhere")
    assert "3 wheels, of which 3 are there already" in again.out


def test_what_no_index_has_is_named_and_the_rest_is_kept(kit, tmp_path) -> None:
    index = tmp_path / "index"
    index.mkdir()
    for path in (kit.parent / "index").iterdir():
        if not path.name.startswith(("plain", "native", "large")):
            (index / path.name).symlink_to(path)
    wheels.wheel(index, "native", tag="cp311-cp311-linux_x86_64")
    made = make(kit, tmp_path / "house", PIP_FIND_LINKS=str(index))
    assert made.status == 2
    assert [line.split(": pip's indexes have no wheel for")[0] for line in made.complaints] == [
        "train.sh: large==1.0",
        "train.sh: native==1.0",
        "train.sh: plain==1.0",
    ]
    assert made.complaints[0].endswith(f"put a wheel of it into {tmp_path / 'house'} and run the same command again")
    for name in ("plain", "large"):
        wheels.wheel(tmp_path / "house", name)
    wheels.wheel(tmp_path / "house", "native", tag="cp312-cp312-linux_x86_64")
    made = make(kit, tmp_path / "house", PIP_FIND_LINKS=str(index))
    assert made.status == 0, made.err
    assert "6 wheels, of which 6 are there already" in made.out


def test_no_network(kit, tmp_path) -> None:
    away = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    made = make(kit, tmp_path / "house", **away)
    assert made.status == 2
    assert len(made.complaints) == 1
    assert "Connection refused" in made.complaints[0]
    assert "check the network, or pip's index settings (pip config list)" in made.complaints[0]
    assert "run the same command again to continue" in made.complaints[0]
    assert [path.name for path in (tmp_path / "house/wheels").iterdir()] == []


def test_a_full_disk(kit, tmp_path) -> None:
    """On a file system of 2 MiB, which is less than one of the wheels: there is no small disk without a mount."""
    if not can_mount():
        pytest.skip("this machine lets nobody make a mount namespace")
    house = tmp_path / "house"
    house.mkdir()
    inside = f"mount -t tmpfs -o size=2m tmpfs {house} && exec {kit}/train.sh wheelhouse {house} {' '.join(TARGET)}"
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(kit.parent / "index"), "PIP_CONFIG_FILE": "/dev/null"}
    words = ["unshare", "-rm", "sh", "-c", inside]
    environment = clean_environment(**index)
    done = subprocess.run(words, cwd=kit, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "the disk is full; free some space" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--platform", "macosx_11_0"], "--platform: macosx_11_0: allowed: manylinux_2_N_x86_64 with N of 28 or more"),
        (["--python", "3.13"], "argument --python: invalid choice: '3.13'"),
        (["--without", "tensorflow"], "--without tensorflow: allowed: optional, torch, tools, or a package of"),
    ],
)
def test_flags_that_are_wrong(tmp_path, flags, complaint) -> None:
    with pytest.raises(UserError) as raised:
        make_main([str(tmp_path / "house"), "--uv", "1", *flags])
    assert len(raised.value.faults) == 1
    assert complaint in raised.value.faults[0]
    assert not (tmp_path / "house").exists()


def test_a_flag_that_does_not_exist(kit, tmp_path) -> None:
    made = make(kit, tmp_path / "house", "--pythons", "1")
    assert made.status == 2
    assert made.complaints == [
        "train.sh: wheelhouse: unrecognized arguments: --pythons 1; ./train.sh wheelhouse --help lists the flags"
    ]


def test_a_folder_that_holds_something_else(kit, tmp_path) -> None:
    (tmp_path / "letter.txt").write_text("")
    made = make(kit, tmp_path)
    assert made.complaints == [f"train.sh: {tmp_path} is neither empty nor a wheelhouse; name another folder"]
    assert (
        make(kit, tmp_path / "letter.txt")
        .complaints[0]
        .startswith(f"train.sh: {tmp_path}/letter.txt cannot be written")
    )


def test_a_wheelhouse_for_another_machine_is_left_as_it_is(kit, tmp_path) -> None:
    (tmp_path / "wheelhouse.json").write_text(
        json.dumps({"format": 2, "target": {"device": "cpu", "python": "3.11", "glibc": 36}})
    )
    made = make(kit, tmp_path)
    assert made.status == 2
    assert f"{tmp_path} is a wheelhouse for cpu, Python 3.11, manylinux_2_36_x86_64, not for cuda" in made.err


def test_what_may_be_left_out_is_in_a_lock() -> None:
    target = Target("cuda", "3.12", 39)
    names = {pin.name for pin in requirements.pins("stack", target)}
    for group, members in requirements.groups().items():
        assert set(members) - names == set(), group
    assert requirements.TOOLS not in requirements.groups()

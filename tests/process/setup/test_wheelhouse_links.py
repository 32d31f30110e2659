"""A wheelhouse of somebody else: links and pipes in it lead nowhere, and nothing outside of it is changed."""

import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support import wheels
from trainer.setup.wheelhouse import make, manifest, requirements, verify
from trainer.setup.wheelhouse.manifest import Manifest
from trainer.setup.wheelhouse.requirements import Pin
from trainer.setup.wheelhouse.target import Target
from trainer.user_error import UserError


class Recorder(http.server.BaseHTTPRequestHandler):
    """Notes what is asked for."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Answer that there is nothing."""
        self.asked.append(self.path)
        self.send_error(404)


@pytest.fixture
def house(tmp_path) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path) -> Path:
    """A folder of the user's."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    (folder / "photos").mkdir()
    return folder


def target() -> Target:
    return Target("cpu", "3.11", 28)


def finish(house: Path) -> None:
    make._make(house, Manifest(target()), {}, {})


def test_a_folder_of_wheels_that_is_a_link_is_refused(house, outside) -> None:
    """What nobody asked for is removed from it."""
    (house / "wheels").symlink_to(outside)
    with pytest.raises(UserError, match="is a link to another folder; remove the link"):
        finish(house)
    assert sorted(path.name for path in outside.iterdir()) == ["photos", "thesis.txt"]


def test_a_link_in_the_place_of_the_new_manifest_is_not_followed(house, outside) -> None:
    (house / f".{manifest.FILE}.new").symlink_to(outside / "thesis.txt")
    finish(house)
    assert (outside / "thesis.txt").read_text() == "years of work"
    assert not (house / manifest.FILE).is_symlink() and manifest.read(house) is not None


def test_a_link_in_the_place_of_the_manifest_is_replaced(house, outside) -> None:
    (house / manifest.FILE).symlink_to(outside / "thesis.txt")
    Manifest(target()).write(house, complete=True)
    assert (outside / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("kind", ["link to a folder", "link to a file", "link to nothing", "link to itself", "pipe"])
def test_what_is_no_wheel_is_removed_and_what_it_leads_to_stays(house, outside, kind) -> None:
    place = house / "wheels/evil-1.0-py3-none-any.whl"
    place.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(place)
    else:
        paths = {"folder": outside, "file": outside / "thesis.txt", "nothing": outside / "none", "itself": place}
        place.symlink_to(paths[kind.rpartition(" ")[2]])
    finish(house)
    assert not place.is_symlink() and not place.exists()
    assert (outside / "thesis.txt").read_text() == "years of work" and (outside / "photos").is_dir()


def test_a_folder_of_a_command_that_was_killed_is_removed_with_its_links(house, outside) -> None:
    left = house / "wheels/.fetch-abc"
    left.mkdir(parents=True)
    (left / "link").symlink_to(outside)
    finish(house)
    assert not left.exists() and (outside / "photos").is_dir()


def test_names_of_files_do_not_steer_the_terminal(house) -> None:
    wheels_folder = house / "wheels"
    wheels_folder.mkdir()
    (wheels_folder / "evil\x1b[2J\n-1.0-py3-none-any.whl").write_bytes(b"")
    (house / "own\x1b[2J-1.0-py3-none-any.whl").write_bytes(b"")
    faults = verify._file_faults(house, Manifest(target()), manifest.own_wheels(house), [])
    assert len(faults) == 2
    assert not any("\x1b" in fault or "\n" in fault for fault in faults)


def test_a_lock_without_hashes_is_told(house, tmp_path) -> None:
    """Set-up names what only the wheelhouse's own checksums hold; an empty file of hashes is one of another lock."""
    lock = tmp_path / "cpu.txt"
    lock.write_text("plain==1.0\n")
    assert requirements.hashes_of(lock) == {}
    for content in ("", "\n", "# of another lock 123\nplain==1.0 --hash=sha256:" + "0" * 64 + "\n"):
        (tmp_path / "cpu.hashes.txt").write_text(content)
        assert requirements.hashes_of(lock) == {}
    digest = manifest.checksum(lock)
    line = "plain==1.0 --hash=sha256:" + "1" * 64
    (tmp_path / "cpu.hashes.txt").write_text(f"# of {digest}\n{line}\n")
    assert requirements.hashes_of(lock) == {("plain", "1.0"): ("1" * 64,)}


def test_a_wheel_whose_hash_the_lock_does_not_have_is_refused(house) -> None:
    file = wheels.wheel(house, "plain").name
    (house / "wheels").mkdir()
    (house / file).rename(house / "wheels" / file)
    sha256 = manifest.checksum(house / "wheels" / file)
    listed = Manifest(target(), {}, {file: sha256})
    sums, _, faults = verify._choose(house, listed, [], [Pin("plain", "1.0", ("0" * 64,))])
    assert not sums and "are not those whose hashes" in faults[0]
    sums, _, faults = verify._choose(house, listed, [], [Pin("plain", "1.0", (sha256,))])
    assert sums and not faults


def test_only_of_a_source_without_wheels_is_a_wheel_built(house) -> None:
    """One for every machine that is said to be built escapes no hash of the locks."""
    file = wheels.wheel(house, "plain").name
    (house / "wheels").mkdir()
    (house / file).rename(house / "wheels" / file)
    listed = Manifest(target(), {}, {file: manifest.checksum(house / "wheels" / file)}, [file])
    sums, _, faults = verify._choose(house, listed, [], [Pin("plain", "1.0", ("0" * 64,))])
    assert not sums and "are not those whose hashes" in faults[0]
    sums, _, faults = verify._choose(house, listed, [], [Pin("plain", "1.0", ("0" * 64,), source_only=True)])
    assert sums and not faults


def test_the_locks_name_what_has_no_wheel() -> None:
    for device in ("cpu", "cuda"):
        pins = requirements.pins("stack", Target(device, "3.12", 31))
        assert [pin.name for pin in pins if pin.source_only] == ["antlr4-python3-runtime"]


def test_no_page_of_html_has_pip_ask_a_server(house, tmp_path) -> None:
    """Pip reads the pages in a folder of wheels, and would prefer what they link to by a build tag."""
    (house / "wheels").mkdir()
    path = wheels.wheel(house / "wheels", "uv")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        link = (
            f'<a href="http://127.0.0.1:{server.server_port}/uv-1.0-1-py3-none-any.whl">uv-1.0-1-py3-none-any.whl</a>'
        )
        for folder in (house, house / "wheels"):
            for name in ("a.html", "index.html", "uv.htm"):
                (folder / name).write_text(f"<!DOCTYPE html><html><body>{link}</body></html>")
        (tmp_path / "uv.txt").write_text(verify._uv([], path))
        words = ["--isolated", "install", "--no-index", "--no-deps", "--require-hashes", "-r", str(tmp_path / "uv.txt")]
        command = [sys.executable, "-m", "pip", *words, "--target", str(tmp_path / "installed")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "installed/uv.py").is_file() and not Recorder.asked


def test_uv_is_the_listed_one_or_ones_own(house) -> None:
    listed, mine = (wheels.wheel(house, "uv", version) for version in ("1.0", "2.0"))
    other = wheels.wheel(house, "uvloop")
    assert verify._uv([other], listed) == f"uv @ {listed.as_uri()} --hash=sha256:{manifest.checksum(listed)}\n"
    assert verify._uv([other, mine], listed).startswith(f"uv @ {mine.as_uri()} ")


@pytest.mark.parametrize("word", ["optional", "nothing", "", "torch", "plain\n", "../plain", "--without"])
def test_a_package_is_left_out_by_its_own_name_or_its_group(house, word) -> None:
    """Another word would have set-up end without the package, and a run fail for it."""
    _, machine, faults = verify._choose(house, Manifest(target(), {"plain": word}), [], [Pin("plain", "1.0")])
    assert not machine and "plain==1.0 not in it" in faults[0]

"""Wheels from pip's indexes, for a machine that need not be this one."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainer.setup.wheelhouse.manifest import checksum
from trainer.setup.wheelhouse.requirements import Requirement
from trainer.setup.wheelhouse.target import Target

CPU_TORCH = "https://download.pytorch.org/whl/cpu"  # PyTorch's CPU build, where pip's own sources have none
OUT_OF_REACH = re.compile(r"Retrying \(|Connection|ProxyError|SSLError|timed out|Temporary failure|HTTPError|40[137] ")


class OutOfReach(Exception):
    """The indexes cannot be asked, or the disk is full: it would not go better with another package."""


class _Missing(Exception):
    """No index has what is wanted; the message is a whole line."""


@dataclass
class Fetched:
    """What came of it: for each wheel the sha256 of the sdist that it was built from, if any; and what is missing."""

    sources: dict[tuple[str, str], str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def fetch(wanted: Sequence[Requirement], target: Target, folder: Path) -> Fetched:
    """Put the wheels that are wanted into ``folder``, each whole or not at all.

    All at once, as most of pip's time is its start; what has no wheel is left out of that, and built by itself.

    Raises:
        OutOfReach: no index could be asked.
    """
    done, rest = Fetched(), list(wanted)
    while rest:
        complaints = _wheels(rest, target, folder)
        lacking = [
            each
            for each in rest
            if re.search(rf"No matching distribution found for {re.escape(str(each))}\b", complaints)
        ]
        alone = [] if not complaints else lacking or rest
        rest = [each for each in rest if each not in alone]
        if not complaints:
            done.sources |= {each.key: "" for each in rest}
            break
        for each in alone:
            try:
                done.sources[each.key] = _by_itself(each, target, folder, tried=bool(lacking))
            except _Missing as error:
                done.missing.append(str(error))
    return done


def _wheels(wanted: Sequence[Requirement], target: Target, folder: Path, *more: str) -> str:
    """Return nothing where all wheels are in the folder now, else what pip says."""
    with _room(folder) as room:
        complaints = _pip("download", *_of(wanted, room), *_for(target), *more, room=room)
        for path in [] if complaints else room.glob("*.whl"):
            path.replace(folder / path.name)
    return complaints


def _by_itself(wanted: Requirement, target: Target, folder: Path, tried: bool) -> str:
    """Fetch one wheel, unless that was tried, or build it; return the checksum of what it was built from."""
    more = ["--extra-index-url", CPU_TORCH] if wanted.version.endswith("+cpu") else []
    if (more or not tried) and not _wheels([wanted], target, folder, *more):
        return ""
    with _room(folder) as room:
        source = _build(wanted, target, room)
        wheel = next(room.glob("*.whl"))
        if not wheel.name.endswith("-none-any.whl"):
            raise _Missing(f"{wanted}: pip's indexes have no wheel for {target}, and its source must be compiled there")
        wheel.replace(folder / wheel.name)
    return source


def _build(wanted: Requirement, target: Target, room: Path) -> str:
    """Make a wheel of the source; return the checksum of that."""
    no_wheel = f"{wanted}: pip's indexes have no wheel for {target}, nor a source that makes one"
    complaints = _pip("download", *_of([wanted], room), f"--no-binary={wanted.name}", room=room)
    if complaints:
        raise _Missing(f"{no_wheel}: {_cause(complaints)}")
    sdist = next(each for each in room.iterdir() if each.name.endswith((".tar.gz", ".zip", ".tar.bz2")))
    complaints = _pip("wheel", "--no-deps", f"--wheel-dir={room}", str(sdist), room=room)
    if complaints:
        raise _Missing(f"{no_wheel}: {_cause(complaints)}")
    return checksum(sdist)


def _for(target: Target) -> list[str]:
    platforms = [f"--platform={each}" for each in target.platforms()]
    return ["--only-binary=:all:", "--implementation=cp", f"--python-version={target.python}", *platforms]


def _of(wanted: Sequence[Requirement], room: Path) -> list[str]:
    lines = [" ".join([str(each), *(f"--hash=sha256:{sum_}" for sum_ in each.hashes)]) for each in wanted]
    (room / "wanted.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["--no-deps", f"--dest={room}", f"--requirement={room / 'wanted.txt'}"]


@contextlib.contextmanager
def _room(folder: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as name:
        yield Path(name)


def _pip(*words: str, room: Path) -> str:
    """Run pip; return nothing if it did what it should, else what it said.

    Raises:
        OutOfReach: for whatever is no property of the package.
    """
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]
    done = subprocess.run(
        [*command, "--no-cache-dir", "--progress-bar=off"],
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | {"TMPDIR": str(room)},  # on the disk that was chosen
        check=False,
    )
    if done.returncode == 0:
        return ""
    said = done.stdout + done.stderr
    if "No space left on device" in said:
        raise OutOfReach("the disk is full; free some space")
    if done.returncode < 0 or "Operation cancelled by user" in said:
        raise OutOfReach("pip was stopped")
    if OUT_OF_REACH.search(done.stderr):
        raise OutOfReach(f"{_cause(said)}; check the network, or pip's index settings (pip config list)")
    return said or "pip gave no reason"


def _cause(said: str) -> str:
    """Return pip's own reason, in short."""
    lines = [line.lstrip(" │╰─>") for line in said.splitlines() if line.strip()]
    errors = [line.partition(": ")[2] for line in lines if line.startswith("ERROR: ")]
    broken = re.search(r"after connection broken by '(.*)'", said)
    return (broken[1] if broken else (errors or lines)[-1])[:200]

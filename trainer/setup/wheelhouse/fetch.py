"""Wheels from pip's indexes, for a machine that need not be this one."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from trainer.setup.wheelhouse.requirements import Pin
from trainer.setup.wheelhouse.target import Target

PIPS = 4  # at a time
BATCH = 12  # wheels of one pip, whose start takes longer than most wheels
CPU_TORCH = "https://download.pytorch.org/whl/cpu"  # PyTorch's CPU build, where pip's own indexes have none
OUT_OF_REACH = re.compile(r"Retrying \(|Connection|ProxyError|SSLError|timed out|Temporary failure|HTTPError|40[137] ")


class FetchStopped(Exception):
    """The indexes are out of reach, or the disk is full: another package would fare no better."""


class Result(NamedTuple):
    """What became of one package. ``built``: the wheel made from source, if so; ``fault``: why there is no wheel."""

    built: str = ""
    fault: str = ""


def fetch_all(pins: Sequence[Pin], target: Target, folder: Path) -> Iterator[Result]:
    """Put wheels into ``folder``, each whole or not at all; yield a result a package as they come.

    Raises:
        FetchStopped: no index could be asked, or the disk is full; the other threads have ended.
    """
    hashed = [pin for pin in pins if pin.hashes]
    batches = [hashed[start : start + BATCH] for start in range(0, len(hashed), BATCH)]
    batches += [[pin] for pin in pins if not pin.hashes]  # pip wants hashes of all or of none
    with ThreadPoolExecutor(PIPS) as pool:
        jobs = [pool.submit(_fetch, batch, target, folder) for batch in batches]
        try:
            for job in as_completed(jobs):
                yield from job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _fetch(pins: Sequence[Pin], target: Target, folder: Path) -> list[Result]:
    """Fetch several wheels at once; where an index lacks one of them, each by itself."""
    platforms = [f"--platform={name}" for name in target.platforms()]
    for_target = ["--only-binary=:all:", "--implementation=cp", f"--python-version={target.python}", *platforms]
    for more in ([], ["--extra-index-url", CPU_TORCH])[: 1 + pins[0].version.endswith("+cpu")]:
        if not _pip("download", "--dest", pins, folder, *for_target, *more):
            return [Result() for _ in pins]
    if len(pins) > 1:
        return [result for pin in pins for result in _fetch([pin], target, folder)]
    return [_build(pins[0], target, folder)]


def _build(pin: Pin, target: Target, folder: Path) -> Result:
    """Build a wheel from source, if that gives one for every machine."""
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as name:
        said = _pip("wheel", "--wheel-dir", [pin], Path(name), f"--no-binary={pin.name}")
        no_wheel = f"{pin}: pip's indexes have no wheel for {target}"
        if not said and pin.hashes and not pin.source_only:
            return Result(fault=f"{no_wheel} whose hash the locks have, and one built from source would have another")
        if said:
            return Result(fault=f"{no_wheel}, nor a source that makes one: {_cause(said)}")
        wheel = next(Path(name).glob("*.whl"))
        if not wheel.name.endswith("-none-any.whl"):
            return Result(fault=f"{no_wheel}, and its source must be compiled there")
        wheel.replace(folder / wheel.name)
    return Result(built=wheel.name)


def _pip(command: str, destination: str, pins: Sequence[Pin], folder: Path, *options: str) -> str:
    """Run ``pip download`` or ``pip wheel`` into ``folder``; return what it said if it failed, else nothing.

    Raises:
        FetchStopped: the fault is not the package's.
    """
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as name:
        lines = [" ".join([str(pin), *(f"--hash=sha256:{sha256}" for sha256 in pin.hashes)]) for pin in pins]
        (Path(name) / "pins.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = [sys.executable, "-m", "pip", command, "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
        words += ["--no-deps", "--progress-bar=off", "-r", f"{name}/pins.txt", destination, f"{name}/out", *options]
        environment = os.environ | {"TMPDIR": name}  # on the disk that was chosen
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", env=environment, check=False)
        if done.returncode == 0:
            for path in Path(name, "out").glob("*.whl"):
                path.replace(folder / path.name)
            return ""
    said = done.stdout + done.stderr
    if "No space left on device" in said:
        raise FetchStopped("the disk is full; free some space")
    if done.returncode < 0 or "Operation cancelled by user" in said:
        raise FetchStopped("pip was stopped")
    if OUT_OF_REACH.search(done.stderr):
        raise FetchStopped(f"{_cause(said)}; check the network, or pip's index settings (pip config list)")
    return said or "pip gave no reason"


def _cause(said: str) -> str:
    """Return pip's own reason, in short."""
    lines = [line.lstrip(" │╰─>") for line in said.splitlines() if line.strip()]
    errors = [line.partition(": ")[2] for line in lines if line.startswith("ERROR: ")]
    broken = re.search(r"after connection broken by '(.*)'", said)
    return (broken[1] if broken else (errors or lines)[-1])[:200]

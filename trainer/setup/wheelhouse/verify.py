"""``--wheelhouse DIR``: is all there that set-up needs? If so, the requirements with checksums that uv is held to."""

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from reward.support.wording import printable
from trainer.setup.wheelhouse import manifest, requirements
from trainer.setup.wheelhouse.manifest import WHEELS, Manifest, checksum
from trainer.setup.wheelhouse.requirements import Pin
from trainer.setup.wheelhouse.target import own_glibc, own_python, wheel_key
from trainer.user_error import UserError, say

# Versions of the packages that an interpreter has, and the folders where it looks for them.
ASK = """
import importlib.metadata as m, json, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
paths = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
print(json.dumps([{name: version(name) for name in sys.argv[1:]}, paths]))
"""
SHOWN = 6  # names in one line


def main(words: list[str]) -> int:
    """Check a wheelhouse: ``FOLDER DEVICE INTERPRETER UV_VERSION LOCK OUT``; return the exit status.

    LOCK is stack or tools. The folder OUT then has requirements.txt, with hashes, uv.txt for pip, and machine.pth where
    the machine has packages of its own; after a fault it is not there.

    Raises:
        UserError: with all that is wrong.
    """
    device, base, uv, lock = words[1:5]
    folder, out = Path(words[0]).resolve(), Path(words[5])
    shutil.rmtree(out, ignore_errors=True)
    listed = _read(folder, device, base)
    own = manifest.own_wheels(folder)
    pins = [*requirements.pins(lock, listed.target), Pin("uv", uv)]
    sums, machine, faults = _choose(folder, listed, own, pins)
    files = [file for file, sha256 in listed.wheels.items() if sha256 in sums.values()]
    faults += _file_faults(folder, listed, own, files)
    done = subprocess.run([base, "-c", ASK, *(pin.name for pin in machine)], capture_output=True, text=True, check=True)
    versions, paths = json.loads(done.stdout)
    for pin in machine:
        has = versions[pin.name] or "none"
        if pin.version != (has if "+" in pin.version else has.partition("+")[0]):
            wanted = f"{pin.version} must be on this machine, and {base} has {has}"
            other = f"make it with {pin.name}, or name another interpreter with PYTHON="
            faults.append(f"{folder} was made --without {pin.name}: {wanted}; {other}")
    if faults:
        raise UserError(*faults)
    if unlisted := [str(pin) for pin, sha256 in sums.items() if sha256 not in pin.hashes]:
        say(f"not among the hashes of the locks, only of {manifest.FILE}: {', '.join(unlisted)}", sys.stderr)
    for path in own:
        sha256 = checksum(path)
        say(f"of your own, and with no hash in {manifest.FILE}: {printable(path.name)}, sha256 {sha256}", sys.stderr)
    out.mkdir(parents=True)
    lines = [f"{pin} --hash=sha256:{sha256}\n" for pin, sha256 in sums.items()]
    (out / "requirements.txt").write_text("".join(lines), encoding="utf-8")
    (out / "uv.txt").write_text(_uv(own, folder / WHEELS / listed.files().get(("uv", uv), "")), encoding="utf-8")
    if machine:
        (out / "machine.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    return 0


def _read(folder: Path, device: str, base: str) -> Manifest:
    """Return the manifest of a wheelhouse that is finished, and for this machine."""
    if not folder.is_dir():
        raise UserError(f"--wheelhouse {folder}: there is no such folder")
    listed = manifest.read(folder)
    if listed is None:
        named = "name the folder that ./train.sh wheelhouse made, or bring that file too"
        raise UserError(f"--wheelhouse {folder}: there is no {manifest.FILE} in it; {named}")
    if not listed.complete:
        raise UserError(f"{folder} was not finished: run ./train.sh wheelhouse again where there is a package index")
    target, faults = listed.target, []
    if target.device != device:
        faults.append(f"made for --device {target.device}, and this set-up is for --device {device}")
    if target.python != own_python():
        other = f"PYTHON=/path/to/python{target.python} chooses another"
        faults.append(f"made for Python {target.python}, and {base} is {own_python()} ({other})")
    if platform.machine() != "x86_64" or own_glibc() < target.glibc:
        here = f"{platform.machine()} with glibc 2.{own_glibc()}"
        faults.append(f"made for {target.platform}, and this machine is {here}")
    if faults:
        raise UserError(f"{folder}: {'; '.join(faults)}; make one for this machine: ./train.sh wheelhouse")
    return listed


def _choose(
    folder: Path, listed: Manifest, own: Sequence[Path], pins: Sequence[Pin]
) -> tuple[dict[Pin, str], list[Pin], list[str]]:
    """Return the sha256 of the wheel of each pin, the pins that the machine must have itself, and what is wrong."""
    sums: dict[Pin, str] = {}
    machine, absent, other, files = [], [], [], listed.files()
    own_sums = {key: checksum(path) for path in own if (key := wheel_key(path.name))}
    replaced, groups = {name for name, _ in own_sums}, requirements.groups()
    for pin in pins:
        file, word = "" if pin.name in replaced else files.get(pin.key, ""), listed.left_out.get(pin.name)
        sha256 = listed.wheels.get(file) or own_sums.get(pin.key)
        built = pin.source_only and file in listed.built
        if (sha256 or pin.name in replaced) and pin.hashes and sha256 not in pin.hashes and not built:
            other.append(pin)
        elif sha256:
            sums[pin] = sha256
        elif pin.name in replaced:
            continue  # by another version, of a lock without hashes: it is installed after the lock
        elif word == pin.name:
            machine.append(pin)
        elif word == requirements.TOOLS:
            raise UserError(f"{folder} was made --without tools, which ./test.sh needs; make it with them")
        elif word is None or pin.name not in groups.get(word, ()):
            absent.append(pin)
    lock = f"config/requirements/{listed.target.device}.txt"
    again = "run ./train.sh wheelhouse with this checkout where there is a package index: it fetches what is missing"
    faults = []
    if absent:
        faults.append(f"{folder} was made from another version of {lock}: {_few(absent)} not in it; {again}")
    if other:
        faults.append(f"{folder}: the files of {_few(other)} are not those whose hashes {lock} has; {again}")
    return sums, machine, faults


def _uv(own: Sequence[Path], listed: Path) -> str:
    """Return what pip installs uv from: a file, as pip fetches what pages of HTML in a folder of wheels link to."""
    path = next((path for path in own if (wheel_key(path.name) or ("",))[0] == "uv"), listed)
    return f"uv @ {path.as_uri()} --hash=sha256:{checksum(path)}\n"


def _file_faults(folder: Path, listed: Manifest, own: Sequence[Path], files: Sequence[str]) -> list[str]:
    """Return a line for each kind of fault that the wheels of one's own, and ``files`` of the manifest, have."""
    where = {file: folder / WHEELS / file for file in files}
    missing = [file for file in files if not where[file].is_file()]
    damaged = [file for file in files if file not in missing and checksum(where[file]) != listed.wheels[file]]
    unfit = [path.name for path in own if not listed.target.fits(path.name)]
    stray = sorted(path.name for path in (folder / WHEELS).glob("*.whl") if path.name not in listed.wheels)
    bring = "copy it again from where the wheelhouse was made"
    kinds = (
        (missing, f"missing from {WHEELS}; {bring}"),
        (damaged, f"damaged, by its checksum; {bring}"),
        (unfit, f"no wheel for {listed.target}; remove it from there"),
        (stray, f"in {WHEELS}, but not of this wheelhouse; wheels of your own go into {folder} itself"),
    )
    return [f"{folder}: {_few(names)}: {fault}" for names, fault in kinds if names]


def _few(names: Sequence[object]) -> str:
    more = len(names) - SHOWN
    return ", ".join(printable(str(name)) for name in names[:SHOWN]) + (f" and {more} more" if more > 0 else "")

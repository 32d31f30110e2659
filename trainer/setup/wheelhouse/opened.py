"""``--wheelhouse DIR``: is all there that set-up needs? Its wheels, whole, in one folder that uv can install from."""

import argparse
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from trainer.setup.wheelhouse import manifest, parts, requirements
from trainer.setup.wheelhouse.manifest import Manifest, Piece, Wheel
from trainer.setup.wheelhouse.requirements import Requirement
from trainer.setup.wheelhouse.target import name_and_version, own_glibc, own_python
from trainer.user_error import UserError

# Versions of the packages that an interpreter finds, and the folders where it looks for them.
ASK = """
import importlib.metadata as m, json, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
paths = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
print(json.dumps([{name: version(name) for name in sys.argv[1:]}, paths]))
"""
SHOWN = 6  # names in one line


class House:
    """A wheelhouse and what was found in its folder."""

    def __init__(self, folder: Path, device: str, base: str) -> None:
        """Read it.

        Raises:
            UserError: it is none, not finished, or for another machine.
        """
        self.folder = folder
        self.manifest = _read(folder)
        self._must_be_for(device, base)
        self.found = manifest.files(folder)
        self.extras = manifest.extras(self.manifest, self.found)
        self.wheels = {wheel.key: wheel for wheel in self.manifest.wheels}

    def extra_faults(self) -> list[str]:
        """Return what is wrong with the wheels that somebody added."""
        target = self.manifest.target
        odd = [path for path in self.extras if name_and_version(path.name) is None or not str(path).isprintable()]
        strangers = [path.name for path in self.extras if path not in odd and not target.fits(path.name)]
        faults = [f"{self.folder}: {str(path)!r}: no name of a wheel; remove it from there" for path in odd]
        if strangers:
            faults.append(f"{self.folder}: {_few(strangers)}: not for {target}; remove it from there")
        return faults

    def _must_be_for(self, device: str, base: str) -> None:
        target, faults = self.manifest.target, []
        if target.device != device:
            faults.append(f"made for --device {target.device}, and this set-up is for --device {device}")
        if target.python != own_python():
            other = f"PYTHON=/path/to/python{target.python} chooses another"
            faults.append(f"made for Python {target.python}, and {base} is {own_python()} ({other})")
        if platform.machine() != "x86_64" or own_glibc() < target.glibc:
            here = f"{platform.machine()} with glibc 2.{own_glibc()}"
            faults.append(f"made for {target.platform}, and this machine is {here}")
        if faults:
            raise UserError(f"{self.folder}: {'; '.join(faults)}; make one for this machine: ./train.sh wheelhouse")


def _read(folder: Path) -> Manifest:
    if not folder.is_dir():
        raise UserError(f"--wheelhouse {folder}: there is no such folder")
    found = manifest.read(folder)
    if found is None:
        raise UserError(
            f"--wheelhouse {folder}: there is no {manifest.FILE} in it; name the folder that ./train.sh wheelhouse "
            "made, or bring that file too"
        )
    if not found.complete:
        raise UserError(f"{folder} was not finished: run ./train.sh wheelhouse again where there is a package index")
    return found


def _few(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def choose(house: House, wanted: Sequence[Requirement]) -> tuple[list[Wheel], list[str], list[str]]:
    """Return the wheels for a lock, the packages that the machine must have itself, and what is wrong."""
    wheels, of_the_machine, absent, other = [], [], [], []
    added = {pair[0]: path for path in house.extras if (pair := name_and_version(path.name))}
    for each in wanted:
        wheel = house.wheels.get(each.key)
        word = house.manifest.left_out.get(each.name)
        if each.name in added:
            if each.hashes and manifest.checksum(added[each.name]) not in each.hashes:
                other.append(str(each))
            continue
        if wheel and each.hashes and not {wheel.sha256, wheel.source} & set(each.hashes):
            other.append(str(each))
        elif wheel:
            wheels.append(wheel)
        elif word == each.name:
            of_the_machine.append(each.name)
        elif word is None:
            absent.append(str(each))
        elif word == requirements.TOOLS:
            return [], [], [f"{house.folder} was made --without tools, which ./test.sh needs; make it with them"]
    lock = f"config/requirements/{house.manifest.target.device}.txt"
    again = "run ./train.sh wheelhouse with this checkout where there is a package index: it fetches what is missing"
    faults = []
    if absent:
        faults.append(f"{house.folder} was made from another version of {lock}: {_few(absent)} not in it; {again}")
    if other:
        faults.append(f"{house.folder}: the files of {_few(other)} are not those whose hashes {lock} has; {again}")
    return wheels, of_the_machine, faults


def gather(house: House, wheels: Sequence[Wheel], into: Path) -> list[str]:
    """Put the wheels, linked or joined, into one folder; return what is missing or damaged, a line a part."""
    bad: dict[tuple[str, str], list[str]] = {}
    for wheel in wheels:
        paths, faults = parts.locate(wheel, house.found)
        for piece, state in faults:
            bad.setdefault(_where(piece, state, house), []).append(wheel.name)
        if not faults and len(paths) == 1:
            (into / wheel.file).symlink_to(paths[0].resolve())
        elif not faults and not bad:
            parts.join(paths, into / wheel.file)
            if manifest.checksum(into / wheel.file) != wheel.sha256:
                bad.setdefault((wheel.file, "is not what its pieces make"), []).append(wheel.name)
    return [
        f"{house.folder}: {what} {state} ({_few(names)}); bring it again from where the wheelhouse was made"
        for (what, state), names in sorted(bad.items())
    ]


def _where(piece: Piece, state: str, house: House) -> tuple[str, str]:
    """A part that is missing as a whole is one fault; else the file is."""
    of_part = {each.file for wheel in house.manifest.wheels for each in wheel.pieces if each.part == piece.part}
    return (piece.part, state) if not of_part & house.found.keys() else (f"{piece.part}/{piece.file}", state)


def machine_faults(
    house: House, names: Sequence[str], wanted: Sequence[Requirement], base: str, into: Path
) -> list[str]:
    """Look for the packages that were left out as the machine has them; leave its folders for set-up."""
    done = subprocess.run([base, "-c", ASK, *names], capture_output=True, text=True, check=True)
    versions, paths = json.loads(done.stdout)
    (into / "machine.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    faults = []
    for each in wanted:
        has = versions.get(each.name) or "none"
        if each.name in names and _public(has, each.version) != each.version:
            faults.append(
                f"{house.folder} was made --without {each.name}: {each.version} must be on this machine, and {base} "
                f"has {has}; make it with {each.name}, or name another interpreter with PYTHON="
            )
    return faults


def _public(version: str, wanted: str) -> str:
    """Return a version without its build, unless a build is wanted."""
    return version if "+" in wanted else version.partition("+")[0]


def main(words: list[str]) -> int:
    """Check the wheelhouse, and fill the folder ``--into``; return the exit status.

    There are then the wheels, requirements.txt (with hashes), extras.txt (paths), and machine.pth where some packages
    are the machine's own.

    Raises:
        UserError: with all that is missing.
    """
    parser = argparse.ArgumentParser()
    for name in ("folder", "--device", "--base", "--uv", "--lock", "--into"):
        parser.add_argument(name)
    typed = parser.parse_args(words)
    house, into = House(Path(typed.folder).resolve(), typed.device, typed.base), Path(typed.into)
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    locks: dict[str, Callable[..., list[Requirement]]] = {"stack": requirements.stack, "tools": requirements.tools}
    wanted = locks[typed.lock](house.manifest.target)
    wheels, of_the_machine, faults = choose(house, wanted)
    uv, _, no_uv = choose(house, [Requirement("uv", typed.uv)])
    faults += house.extra_faults()
    try:
        faults += [*no_uv, *gather(house, [*uv, *wheels], into)]
    except OSError as error:
        faults.append(f"{into} cannot be written: {error.strerror}; free some space")
    if of_the_machine:
        faults += machine_faults(house, of_the_machine, wanted, typed.base, into)
    if faults:
        shutil.rmtree(into, ignore_errors=True)
        raise UserError(*faults)
    lines = [f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n" for wheel in wheels]
    (into / "requirements.txt").write_text("".join(lines), encoding="utf-8")
    for path in house.extras:
        own = f"{path.name}, sha256 {manifest.checksum(path)}"
        print(f"of your own, and with no hash in {manifest.FILE}: {own}", file=sys.stderr)
    (into / "extras.txt").write_text("".join(f"{path}\n" for path in house.extras), encoding="utf-8")
    return 0


def print_extras(words: list[str]) -> int:
    """Print the paths of the wheels that somebody added to a wheelhouse, one a line."""
    folder = Path(words[0]).resolve()
    for path in manifest.extras(_read(folder), manifest.files(folder)):
        if name_and_version(path.name) is None or not str(path).isprintable():
            raise UserError(f"{folder}: {str(path)!r}: no name of a wheel; remove it from there")
        print(path)
    return 0

"""``./train.sh wheelhouse DIR``: fetch what the locks ask for on a machine."""

import argparse
import errno
import fcntl
import os
import re
import shutil
import time
from pathlib import Path
from typing import NoReturn

from trainer.setup.host import gpu_count
from trainer.setup.wheelhouse import manifest, requirements
from trainer.setup.wheelhouse.fetch import FetchStopped, fetch_all
from trainer.setup.wheelhouse.manifest import WHEELS, Key, Manifest, checksum
from trainer.setup.wheelhouse.requirements import Pin
from trainer.setup.wheelhouse.target import PYTHONS, Target, own_glibc, own_python, wheel_key
from trainer.user_error import UserError, say

EPILOG = """--without takes several, by commas: optional (what no run of this kit needs), torch (with its CUDA
libraries: the other machine has that version), tools (of ./test.sh and make check), or the name of a package that the
other machine has. All but optional and tools must be there at set-up. Wheels of your own (flash-attn, say) go into DIR
itself: set-up installs them too. An interrupted command goes on where it stopped. Where only small files can be
brought: tar -cf - DIR | split -b 60M - part.   and there: cat part.* | tar -xf -"""


class _Parser(argparse.ArgumentParser):
    """argparse with the kit's form of an error."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"wheelhouse: {message}; ./train.sh wheelhouse --help lists the flags")


def _glibc(platform: str) -> int:
    match = re.fullmatch(r"manylinux_2_(\d\d)_x86_64", platform)
    if not match or int(match[1]) < 28:
        allowed = "manylinux_2_N_x86_64 with N of 28 or more (the locks are for Linux on x86-64; vLLM wants glibc 2.28)"
        raise argparse.ArgumentTypeError(f"{platform}: allowed: {allowed}")
    return int(match[1])


def _parser() -> argparse.ArgumentParser:
    about = "Collect what set-up installs, for a machine with no package index."
    parser = _Parser(prog="./train.sh wheelhouse", description=about, epilog=EPILOG, allow_abbrev=False)
    parser.add_argument("folder", metavar="DIR", help="a new folder, or a wheelhouse to finish or to bring up to date")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="of the other machine (default: of this one)")
    parser.add_argument("--python", choices=PYTHONS, default=own_python(), help="of the other machine (%(default)s)")
    newest = "its newest: 2_39 for the glibc 2.39 of ldd --version (%(default)s)"
    parser.add_argument("--platform", type=_glibc, default=f"manylinux_2_{own_glibc()}_x86_64", help=newest)
    parser.add_argument("--without", metavar="LIST", default="", help="what is left out")
    parser.add_argument("--uv", help=argparse.SUPPRESS)
    return parser


def main(words: list[str]) -> int:
    """Make a wheelhouse, or finish one; return the exit status.

    Raises:
        UserError: with what stands in the way; what was fetched is kept.
    """
    typed = _parser().parse_args(words)
    folder = Path(typed.folder).expanduser().resolve()
    target = Target(typed.device or ("cuda" if gpu_count() else "cpu"), typed.python, typed.platform)
    left_out = requirements.left_out(re.findall(r"[^\s,]+", typed.without), target)
    locks = [*requirements.pins("stack", target), *requirements.pins("tools", target), Pin("uv", typed.uv)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock_fd = os.open(folder, os.O_RDONLY)  # open until this process ends
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _make(folder, _before(folder, target), left_out, {pin.key: pin for pin in locks if pin.name not in left_out})
    except BlockingIOError:
        raise UserError(f"{folder}: another ./train.sh wheelhouse is running there; wait for it") from None
    except OSError as error:
        full = "the disk is full; free some space and run the same command again: what was fetched is kept"
        other = f"cannot be written: {error.strerror}; name another folder"
        raise UserError(f"{folder}: {full}" if error.errno == errno.ENOSPC else f"{folder} {other}") from None
    return 0


def _before(folder: Path, target: Target) -> Manifest:
    """Return the manifest of a folder that is empty, or a wheelhouse for the same machine."""
    before = manifest.read(folder)
    if before is None:
        if any(folder.iterdir()):
            raise UserError(f"{folder} is neither empty nor a wheelhouse; name another folder")
        return Manifest(target)
    if before.target != target:
        raise UserError(f"{folder} is a wheelhouse for {before.target}, not for {target}; name another folder")
    return before


def _make(folder: Path, before: Manifest, left_out: dict[str, str], pins: dict[Key, Pin]) -> None:
    start, wheels = time.monotonic(), folder / WHEELS
    own = [path.name for path in manifest.own_wheels(folder)]
    wanted = {key: pin for key, pin in pins.items() if key not in map(wheel_key, own)}
    if wheels.is_symlink():  # what is not asked for is removed from there
        raise UserError(f"{wheels} is a link to another folder; remove the link, and run the same command again")
    wheels.mkdir(exist_ok=True)
    before.write(folder, complete=False)
    kept = _keep(wheels, before, wanted)
    keys = set(map(wheel_key, kept))
    say(f"wheelhouse for {before.target}: {len(wanted)} wheels, of which {len(kept)} are there already")
    built = _fetch(folder, before.target, [pin for key, pin in wanted.items() if key not in keys])
    paths = sorted(wheels.glob("*.whl"))
    listed = {path.name: kept.get(path.name) or checksum(path) for path in paths}
    made = Manifest(before.target, left_out, listed, [*built, *(name for name in before.built if name in kept)])
    assert made.files().keys() == wanted.keys(), made.files().keys() ^ wanted.keys()
    made.write(folder, complete=True)
    size, seconds = sum(path.stat().st_size for path in paths) >> 20, time.monotonic() - start
    say(f"{folder} is complete: {len(paths)} wheels for {made.target}, {size} MiB (in {seconds:.0f} s)")
    for word in sorted(set(left_out.values())):
        say(f"left out ({word}): {', '.join(sorted(name for name in left_out if left_out[name] == word))}")
    if own:
        say(f"wheels of your own, which set-up installs too: {', '.join(own)}")
    say(f"copy {folder} and this checkout to the other machine; run there: ./train.sh --wheelhouse DIR")


def _keep(wheels: Path, before: Manifest, wanted: dict[Key, Pin]) -> dict[str, str]:
    """Return the wheels, with sha256, that are sound, wanted and allowed by the lock; remove all else."""
    kept: dict[str, str] = {}
    for path in sorted(wheels.iterdir()):
        if path.is_dir() and not path.is_symlink():  # of a command that was killed
            shutil.rmtree(path)
            continue
        if not path.is_file():  # a pipe, or a link to no file
            path.unlink()
            continue
        pin, sha256 = wanted.get(wheel_key(path.name) or ("", "")), checksum(path)
        sound = sha256 == before.wheels.get(path.name, sha256)  # not listed yet: pip checked it as it came
        if (
            pin
            and sound
            and (not pin.hashes or sha256 in pin.hashes or (pin.source_only and path.name in before.built))
        ):
            kept[path.name] = sha256
        else:
            say(f"removed, as it is damaged or not asked for: {path.name}")
            path.unlink()
    return kept


def _fetch(folder: Path, target: Target, missing: list[Pin]) -> list[str]:
    """Fetch what is missing, with a line of progress each 10 s; return the files that were built from source."""
    results, reported = [], time.monotonic()
    try:
        for result in fetch_all(missing, target, folder / WHEELS):
            results.append(result)
            if time.monotonic() > reported + 10:
                reported = time.monotonic()
                say(f"{len(results)} of {len(missing)} wheels fetched")
    except FetchStopped as error:
        count = len(list((folder / WHEELS).glob("*.whl")))
        raise UserError(
            f"{error}; {count} wheels are there and are kept: run the same command again to continue"
        ) from None
    again = f"put a wheel of it into {folder} and run the same command again"
    if faults := sorted(result.fault for result in results if result.fault):
        raise UserError(*(f"{fault}; {again}" for fault in faults))
    return [result.built for result in results if result.built]

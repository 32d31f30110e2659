"""``./train.sh wheelhouse DIR``: fetch what the locks ask for on a machine, and lay it out in parts."""

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from trainer.setup.wheelhouse import arguments, manifest, parts, requirements
from trainer.setup.wheelhouse.fetch import Fetched, OutOfReach, fetch
from trainer.setup.wheelhouse.manifest import Manifest, Wheel
from trainer.setup.wheelhouse.requirements import Requirement
from trainer.setup.wheelhouse.target import name_and_version
from trainer.user_error import UserError

WHOLE = "fetched"  # the folder of whole wheels that have no place in a part yet
PIPS = 4  # at a time
OF_ONE_PIP = 12  # wheels
MIB = 1 << 20

Key = tuple[str, str]


def say(text: str) -> None:
    """Print one line of the story."""
    print(text, flush=True)


def main(words: list[str]) -> int:
    """Make a wheelhouse, or finish one; return the exit status.

    Raises:
        UserError: with what stands in the way; what was fetched is kept.
    """
    asked = arguments.read(words)
    target = asked.target
    left_out = requirements.left_out(asked.without, target)
    lock = [*requirements.stack(target), *requirements.tools(target)]
    wanted = {each.key: each for each in lock if each.name not in left_out}
    wanted |= {uv.key: uv for uv in [Requirement("uv", asked.uv)]}
    folder = asked.folder
    with _held(folder):
        before = _before(folder, asked)
        new = Manifest(target, asked.part_size, left_out)
        try:
            _make(folder, before, new, wanted)
        except OSError as error:
            raise UserError(_in_words(folder, error)) from None
    return 0


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Make the folder, and keep others out of it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(_in_words(folder, error)) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise UserError(f"{folder}: another ./train.sh wheelhouse is at work there; wait for it") from None
    try:
        yield
    finally:
        os.close(handle)


def _in_words(folder: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"{folder}: the disk is full; free some space and run the same command again: what was fetched is kept"
    return f"{folder} cannot be written: {error.strerror}; name another folder"


def _before(folder: Path, asked: arguments.Asked) -> Manifest:
    """Return what is there, which is nothing or a wheelhouse for the same machine."""
    found = manifest.read(folder)
    if found is None:
        if any(folder.iterdir()):
            raise UserError(f"{folder} is neither empty nor a wheelhouse; name another folder")
        return Manifest(asked.target)
    if found.target != asked.target:
        raise UserError(f"{folder} is a wheelhouse for {found.target}, not for {asked.target}; name another folder")
    return found


def _make(folder: Path, before: Manifest, new: Manifest, wanted: dict[Key, Requirement]) -> None:
    start = time.monotonic()
    found = manifest.files(folder)
    added = [path for path in manifest.extras(before, found) if path.parent != folder / WHOLE]
    wanted = {key: each for key, each in wanted.items() if key not in {name_and_version(path.name) for path in added}}
    if _is_done(before, new, wanted, found):
        say(f"{folder} is complete: {_summary(before)}")
        return
    replace(before, complete=False).write(folder)
    _gather(folder, before, found)
    sources = {wheel.key: wheel.source for wheel in before.wheels}
    whole = _in_hand(folder, wanted, sources)
    missing = [each for key, each in wanted.items() if key not in whole]
    say(f"wheelhouse for {new.target}: {len(wanted)} wheels, of which {len(whole)} are there already")
    sources |= _fetch_all(folder, new, missing)
    whole = _in_hand(folder, wanted, sources)
    assert whole.keys() == wanted.keys(), whole.keys() ^ wanted.keys()
    made = _lay_out(folder, new, whole, sources)
    _tell(folder, made, added, time.monotonic() - start)


def _is_done(before: Manifest, new: Manifest, wanted: dict[Key, Requirement], found: dict[str, list[Path]]) -> bool:
    same = before.complete and before.part_size == new.part_size and before.left_out == new.left_out
    same = same and {wheel.key for wheel in before.wheels} == set(wanted)
    return same and not any(parts.locate(wheel, found)[1] for wheel in before.wheels)


def _gather(folder: Path, before: Manifest, found: dict[str, list[Path]]) -> None:
    """Bring the wheels out of their parts, whole, into one folder; pieces of a cut that was broken off go."""
    (folder / WHOLE).mkdir(exist_ok=True)
    for left_over in (folder / WHOLE).glob(".fetch-*"):
        shutil.rmtree(left_over)
    for wheel in before.wheels:
        paths, faults = parts.locate(wheel, found)
        whole = folder / WHOLE / wheel.file
        if faults or paths == [whole]:
            continue
        if len(paths) == 1:
            paths[0].replace(whole)
        else:
            parts.join(paths, whole)
            for path in paths:
                path.unlink()
    ours = {piece.file for wheel in before.wheels for piece in wheel.pieces}
    for name, paths in manifest.files(folder).items():
        for path in paths:
            stem, _, number = name.rpartition(".")
            if path.parent != folder / WHOLE and (name in ours or (stem.endswith(".whl") and number.isdigit())):
                path.unlink()
    for part in folder.iterdir():
        if part.is_dir() and part.name.startswith(("part", "wheels")) and not any(part.iterdir()):
            part.rmdir()


def _in_hand(folder: Path, wanted: dict[Key, Requirement], sources: dict[Key, str]) -> dict[Key, Path]:
    """Return the whole wheels that are wanted and that the lock allows, by name and version; the others go."""
    whole = {}
    for path in (folder / WHOLE).glob("*.whl"):
        key = name_and_version(path.name)
        hashes = wanted[key].hashes if key in wanted else ()
        if key in wanted and (not hashes or {manifest.checksum(path), sources.get(key)} & set(hashes)):
            whole[key] = path
        else:
            say(f"removed, as it is not asked for: {path.name}")
            path.unlink()
    return whole


def _fetch_all(folder: Path, new: Manifest, missing: list[Requirement]) -> dict[Key, str]:
    """Fetch several at a time; return the checksums of the sources that wheels were built from."""
    done = Fetched()
    told = time.monotonic()
    with ThreadPoolExecutor(PIPS) as pool:
        kinds = (
            [each for each in missing if each.hashes],
            [each for each in missing if not each.hashes],
        )  # pip: all or none
        shares = [kind[start : start + OF_ONE_PIP] for kind in kinds for start in range(0, len(kind), OF_ONE_PIP)]
        jobs = [pool.submit(fetch, each, new.target, folder / WHOLE) for each in shares]
        try:
            for job in as_completed(jobs):
                done.sources |= job.result().sources
                done.missing += job.result().missing
                if time.monotonic() > told + 10:
                    told = time.monotonic()
                    say(f"  {len(done.sources)} of {len(missing)} wheels fetched")
        except OutOfReach as error:
            pool.shutdown(cancel_futures=True)
            kept = len(list((folder / WHOLE).glob("*.whl")))
            raise UserError(f"{error}; {kept} wheels are there and are kept: the same command goes on") from None
        finally:
            pool.shutdown(cancel_futures=True)
    if done.missing:
        more = f"put a wheel of it into {folder} and run the same command again"
        raise UserError(*(f"{each}; {more}" for each in sorted(done.missing)))
    return done.sources


def _lay_out(folder: Path, new: Manifest, whole: dict[Key, Path], sources: dict[Key, str]) -> Manifest:
    """Move the wheels into their parts. The manifest is written first, so that a stop in between loses nothing."""
    wheels = [
        Wheel(*key, path.name, path.stat().st_size, manifest.checksum(path), sources.get(key, ""))
        for key, path in sorted(whole.items())
    ]
    planned = parts.plan(wheels, new.part_size)
    made = replace(new, wheels=tuple(each for each in planned if len(each.pieces) == 1))
    made.write(folder)
    for each in made.wheels:
        place = folder / each.pieces[0].part
        place.mkdir(exist_ok=True)
        whole[each.key].replace(place / each.file)
    for each in planned:
        if len(each.pieces) > 1:
            made = made.placed(parts.cut(whole[each.key], each, folder))
            made.write(folder)
            whole[each.key].unlink()
    made = replace(made, complete=True)
    made.write(folder)
    (folder / WHOLE).rmdir()
    return made


def _summary(made: Manifest) -> str:
    size = sum(wheel.size for wheel in made.wheels) / MIB
    folders = len({piece.part for wheel in made.wheels for piece in wheel.pieces})
    within = f" in {folders} parts of at most {made.part_size / MIB:g} MiB" if made.part_size else ""
    return f"{len(made.wheels)} wheels for {made.target}, {size:.0f} MiB{within}"


def _tell(folder: Path, made: Manifest, added: list[Path], seconds: float) -> None:
    say(f"{folder}: {_summary(made)} (made in {seconds:.0f} s)")
    for word in sorted(set(made.left_out.values())):
        names = sorted(name for name, each in made.left_out.items() if each == word)
        say(f"left out ({word}): {', '.join(names)}")
    if added:
        say(f"wheels of your own, which set-up installs too: {', '.join(path.name for path in added)}")
    say(f"bring {folder} and this checkout to the other machine; there: ./train.sh --wheelhouse DIR")

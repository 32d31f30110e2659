"""What the locks ask for on a machine, and what may be left out of it."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name
from pip._vendor.packaging.version import Version

from trainer import ROOT
from trainer.setup.wheelhouse.manifest import Key, checksum
from trainer.setup.wheelhouse.target import Target
from trainer.user_error import UserError

FOLDER = ROOT / "config" / "requirements"
SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})")
TOOLS = "tools"  # the lock dev.txt, and the group of what it has beside the stack


@dataclass(frozen=True)
class Pin:
    """One line of a lock.

    ``hashes`` (sha256) are those of the files that are allowed; with none, any file is. ``source_only``: they are of a
    source, of which a wheel is built.
    """

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    source_only: bool = False

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def key(self) -> Key:
        """Name and version, as in the file name of a wheel."""
        return self.name, self.version


def pins(lock: str, target: Target) -> list[Pin]:
    """Return what a lock, "stack" (for training) or "tools" (for tests and checks), asks for on the target.

    Raises:
        UserError: a line is none of an exact lock.
    """
    path = FOLDER / ("dev.txt" if lock == TOOLS else f"{target.device}.txt")
    hashes = hashes_of(path)
    lines = [line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    keys = [_parse(path, line, target) for line in lines if line]
    source_only = _source_only(path)
    return [Pin(*key, hashes.get(key, ()), key in source_only) for key in keys if key]


def _parse(lock: Path, line: str, target: Target) -> Key | None:
    """Parse ``name==version ; marker``; return None where the marker is not true of the target."""
    try:
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        key = str(canonicalize_name(requirement.name)), str(Version(specifier.version))
    except ValueError:
        specifier = None
    if specifier is None or specifier.operator != "==":
        raise UserError(f"{lock}: {line!r} is not of the form name==version; make lock writes it")
    return key if requirement.marker is None or requirement.marker.evaluate(target.markers()) else None


def hashes_of(lock: Path) -> dict[Key, tuple[str, ...]]:
    """Return the sha256 of the files of each name and version, from the file beside a lock; none of another lock."""
    beside = lock.with_suffix(".hashes.txt")
    lines = beside.read_text(encoding="utf-8").splitlines() if beside.is_file() else []
    if not lines or not lines[0].endswith(f" {checksum(lock)}"):
        return {}
    parts = [(line.partition(" ")[0].split("=="), line) for line in lines[1:]]
    return {(name, version): tuple(SHA256.findall(line)) for (name, version), line in parts}


def _source_only(lock: Path) -> set[Key]:
    """Return the packages of a lock that have no wheel."""
    beside = lock.with_suffix(".hashes.txt")
    lines = beside.read_text(encoding="utf-8").splitlines() if beside.is_file() else []
    parts = [line.partition(" ")[0].partition("==") for line in lines if line.endswith(" # source only")]
    return {(name, version) for name, _, version in parts}


def groups() -> dict[str, list[str]]:
    """Return the groups of packages that may be left out by one word: left_out.tsv."""
    members: dict[str, list[str]] = {}
    with (FOLDER / "left_out.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            members.setdefault(row["group"], []).append(row["package"])
    return members


def left_out(words: list[str], target: Target) -> dict[str, str]:
    """Return the packages that ``words``, groups and names, leave out, each with the word that does.

    Raises:
        UserError: a word is neither a group nor a package of the locks.
    """
    of_stack, of_tools = ({pin.name for pin in pins(lock, target)} for lock in ("stack", TOOLS))
    known = {**groups(), TOOLS: sorted(of_tools - of_stack)}
    packages: dict[str, str] = {}
    for word in words:
        members = known.get(word, [str(canonicalize_name(word))])
        chosen = [name for name in members if name in of_stack | of_tools]
        if not chosen and word not in known:
            lock = f"config/requirements/{target.device}.txt"
            raise UserError(f"--without {word}: allowed: {', '.join(known)}, or a package of {lock}")
        packages |= dict.fromkeys(chosen, word if word in known else chosen[0])
    return packages

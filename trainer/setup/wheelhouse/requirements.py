"""What the locks ask for on a machine, and what may be left out of it."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from pip._vendor.packaging.markers import InvalidMarker, Marker
from pip._vendor.packaging.utils import canonicalize_name
from pip._vendor.packaging.version import Version

from trainer import ROOT
from trainer.setup.wheelhouse.manifest import checksum
from trainer.setup.wheelhouse.target import Target
from trainer.user_error import UserError

FOLDER = ROOT / "config" / "requirements"
NOT_NEEDED = "optional"  # the group that nobody has to have
TOOLS = "tools"  # the group of dev.txt


@dataclass(frozen=True)
class Requirement:
    """One line of a lock. ``hashes`` (sha256) are those of the files that may be taken; with none, any may."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def key(self) -> tuple[str, str]:
        """Name and version as they are in the file name of a wheel."""
        return self.name, str(Version(self.version))


def read(lock: Path, target: Target) -> list[Requirement]:
    """Return what a lock asks for on the target, by the markers of its lines.

    Raises:
        UserError: a line is none of an exact lock.
    """
    found, faults, sums = [], [], hashes_of(lock)
    for line in lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        text = line.partition("#")[0].strip()
        hashes = tuple(re.findall(r"--hash[= ]sha256:([0-9a-f]{64})", text))
        match = re.fullmatch(r"([\w.-]+)\s*==\s*([^\s;]+)\s*(?:;\s*(.+?))?", text.partition("--hash")[0].strip())
        if not match:
            faults += [f"{lock}: {text!r} is not of the form name==version; make lock writes it"] * bool(text)
            continue
        try:
            wanted = not match[3] or Marker(match[3]).evaluate(target.markers())
        except InvalidMarker:
            faults.append(f"{lock}: {text!r} has a marker that cannot be read; make lock writes it")
            continue
        if wanted:
            name = str(canonicalize_name(match[1]))
            found.append(Requirement(name, match[2], hashes or sums.get((name, match[2]), ())))
    if faults:
        raise UserError(*faults)
    return found


def hashes_of(lock: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the sha256 of the files of each name and version, from the file beside a lock; none of another lock."""
    beside = lock.with_suffix(".hashes.txt")
    lines = beside.read_text(encoding="utf-8").splitlines() if beside.is_file() else [""]
    if not lines[0].endswith(f" {checksum(lock)}"):
        return {}
    found = {}
    for line in lines[1:]:
        name, _, rest = line.partition("==")
        found[str(canonicalize_name(name)), rest.split()[0]] = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", rest))
    return found


def stack(target: Target) -> list[Requirement]:
    """Return what training needs."""
    return read(FOLDER / f"{target.device}.txt", target)


def tools(target: Target) -> list[Requirement]:
    """Return what the tests and ``make check`` need beside it."""
    return read(FOLDER / "dev.txt", target)


def groups() -> dict[str, list[str]]:
    """Return the groups of packages that may be left out by one word: left_out.tsv."""
    found: dict[str, list[str]] = {}
    with (FOLDER / "left_out.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            found.setdefault(row["group"], []).append(row["package"])
    return found


def left_out(words: list[str], target: Target) -> dict[str, str]:
    """Return the packages that ``words``, groups and names, leave out, each with the word that does.

    Raises:
        UserError: a word is neither a group nor a package of the locks.
    """
    known = groups()
    asked_for = {each.name for each in [*stack(target), *tools(target)]}
    found: dict[str, str] = {}
    faults = []
    for word in words:
        name = str(canonicalize_name(word))
        if word == TOOLS:
            found |= {each.name: TOOLS for each in tools(target) if each not in stack(target)}
        elif word in known:
            found |= {each: word for each in known[word] if each in asked_for}
        elif name in asked_for:
            found[name] = name
        else:
            choices = ", ".join([*known, TOOLS])
            faults.append(
                f"--without {word}: allowed: {choices}, or a package of config/requirements/{target.device}.txt"
            )
    if faults:
        raise UserError(*faults)
    return found

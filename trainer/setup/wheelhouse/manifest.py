"""wheelhouse.json: what a wheelhouse is for, and each of its files with size and checksum."""

import hashlib
import json
import os
import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from trainer.setup.wheelhouse.target import Target, name_and_version
from trainer.user_error import UserError

FILE = "wheelhouse.json"
FORMAT = 1
LARGEST = 64 << 20  # bytes of a manifest
WHEEL = re.compile(r"[A-Za-z0-9_.+!-]{1,200}\.whl", re.ASCII)
PART = re.compile(r"wheels|part\d{1,6}")
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Piece:
    """A file: a whole wheel, or the next bytes of one that is larger than a part. ``size`` in bytes."""

    part: str
    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Wheel:
    """A wheel and where its bytes are. ``source`` is the sha256 of the sdist that it was built from, if it was."""

    name: str
    version: str
    file: str
    size: int
    sha256: str
    source: str = ""
    pieces: tuple[Piece, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Name and version."""
        return self.name, self.version


@dataclass(frozen=True)
class Manifest:
    """A wheelhouse. ``left_out``: {package: the word of --without that says so}; ``part_size`` in bytes, 0 for one."""

    target: Target
    part_size: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    wheels: tuple[Wheel, ...] = ()
    complete: bool = False

    def write(self, folder: Path) -> None:
        """Write it whole or not at all."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1)
        temporary = folder / f".{FILE}.new"
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(folder / FILE)

    def placed(self, wheel: Wheel) -> "Manifest":
        """Return it with ``wheel`` where that is now."""
        return replace(self, wheels=(*(each for each in self.wheels if each.key != wheel.key), wheel))


def read(folder: Path) -> Manifest | None:
    """Return the manifest of a folder; None where it has none.

    Raises:
        UserError: there is one that cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"larger than {LARGEST >> 20} MiB")
        found = json.loads(path.read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT:
            raise UserError(f"{path}: made by another version of the kit; make the wheelhouse with this checkout")
        wheels = tuple(
            Wheel(**{**each, "pieces": tuple(Piece(**piece) for piece in each["pieces"])}) for each in found["wheels"]
        )
        read = Manifest(**{**found, "target": Target(**found["target"]), "wheels": wheels})
        check(read)
        return read
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise UserError(f"{path} is damaged ({why}); copy it again, or make the wheelhouse anew") from None


def check(found: Manifest) -> None:
    """Check what a manifest says before anything is done with it: who brings one may have written it by hand.

    Raises:
        ValueError: a name that leads elsewhere, a file without a checksum, two of one name, an impossible size.
    """
    target = found.target
    if target.device not in ("cpu", "cuda") or not re.fullmatch(r"3\.\d{1,2}", target.python):
        raise ValueError("its target is none")
    if not _is_size(target.glibc) or not _is_size(found.part_size) or not isinstance(found.complete, bool):
        raise ValueError("a number is wanted in target or part_size")
    if not all(isinstance(each, str) for pair in found.left_out.items() for each in pair):
        raise ValueError("left_out: texts are wanted")
    for wheel in found.wheels:
        _check_wheel(wheel)
    names = [each.file for each in found.wheels], [each.key for each in found.wheels]
    pieces = [piece.file for each in found.wheels for piece in each.pieces]
    for group in (*names, pieces):
        twice = next((each for each, count in Counter(map(str, group)).items() if count > 1), None)
        if twice is not None:
            raise ValueError(f"{twice[:120]!r} is there twice")


def _check_wheel(wheel: Wheel) -> None:
    name = f"{wheel.file!r}"[:120]
    if not WHEEL.fullmatch(wheel.file) or name_and_version(wheel.file) != wheel.key:
        raise ValueError(f"{name} is no file name of the wheel {wheel.name[:60]!r}")
    if not SHA256.fullmatch(wheel.sha256) or not (wheel.source == "" or SHA256.fullmatch(wheel.source)):
        raise ValueError(f"{name} has no sha256")
    for piece in wheel.pieces:
        if not PART.fullmatch(piece.part) or not re.fullmatch(re.escape(wheel.file) + r"(\.\d{3,6})?", piece.file):
            raise ValueError(f"{f'{piece.part}/{piece.file}'[:120]!r} is no place of {name}")
        if not SHA256.fullmatch(piece.sha256):
            raise ValueError(f"{piece.file[:120]!r} has no sha256")
    sizes = [piece.size for piece in wheel.pieces]
    if not all(map(_is_size, [wheel.size, *sizes])) or sum(sizes) != wheel.size:
        raise ValueError(f"the sizes of {name} and its pieces do not agree")
    if len(wheel.pieces) == 1 and wheel.pieces[0].sha256 != wheel.sha256:
        raise ValueError(f"the checksums of {name} do not agree")


def _is_size(number: object) -> bool:
    return type(number) is int and 0 <= number < 1 << 44


def files(folder: Path) -> dict[str, list[Path]]:
    """Return the files of a wheelhouse by name, in whatever folders they came to lie."""
    found: dict[str, list[Path]] = {}
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            found.setdefault(name, []).append(Path(where, name))
    return found


def checksum(path: Path) -> str:
    """Return the sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def extras(manifest: Manifest, found: dict[str, list[Path]]) -> list[Path]:
    """Return the wheels that somebody else put into the folder."""
    own = {wheel.file for wheel in manifest.wheels}
    return sorted(paths[0] for name, paths in found.items() if name.endswith(".whl") and name not in own)

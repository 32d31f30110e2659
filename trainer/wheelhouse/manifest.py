"""wheelhouse.json: what a wheelhouse is for, and each of its files with size and checksum."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from trainer.settings import UserError
from trainer.wheelhouse.target import Target

FILE = "wheelhouse.json"
FORMAT = 1


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
        found = json.loads(path.read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT:
            raise UserError(f"{path}: made by another version of the kit; make the wheelhouse with this checkout")
        wheels = tuple(
            Wheel(**{**each, "pieces": tuple(Piece(**piece) for piece in each["pieces"])}) for each in found["wheels"]
        )
        return Manifest(**{**found, "target": Target(**found["target"]), "wheels": wheels})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}); copy it again, or make the wheelhouse anew") from None


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

"""wheelhouse.json: the machine that a wheelhouse is for, what was left out, and the checksum of each wheel."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trainer.setup.wheelhouse.target import PYTHONS, Target, wheel_key
from trainer.user_error import UserError

FILE = "wheelhouse.json"
FORMAT = 2
WHEELS = "wheels"  # the folder of the wheels that are listed; wheels of the user's own lie beside it
LARGEST = 16 << 20  # bytes of a manifest
SHA256 = re.compile(r"[0-9a-f]{64}")

Key = tuple[str, str]  # name and version


@dataclass(frozen=True)
class Manifest:
    """A wheelhouse.

    ``left_out``: {package: the word of --without that says so}; ``wheels``: {file name: sha256}; ``built``: those of
    them that were built from source where the wheelhouse was made, so that the locks do not have their checksum.
    """

    target: Target
    left_out: dict[str, str] = field(default_factory=dict)
    wheels: dict[str, str] = field(default_factory=dict)
    built: list[str] = field(default_factory=list)
    complete: bool = False

    def write(self, folder: Path, complete: bool) -> None:
        """Write it, as complete or not, whole or not at all."""
        temporary = folder / f".{FILE}.new"
        content = {"format": FORMAT, **asdict(self), "complete": complete}
        temporary.unlink(missing_ok=True)  # which may be a link to anywhere
        with temporary.open("x", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1) + "\n")
        temporary.replace(folder / FILE)

    def files(self) -> dict[Key, str]:
        """Return the file name of each package and version."""
        return {key: file for file in self.wheels if (key := wheel_key(file))}


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
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("format") != FORMAT:
            raise UserError(f"{path}: made by another version of the kit; make the wheelhouse with this checkout")
        manifest = Manifest(**{**content, "target": Target(**content["target"])})
        _check(manifest)
        return manifest
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise UserError(f"{path} is damaged ({why}); copy it again, or make the wheelhouse anew") from None


def _check(manifest: Manifest) -> None:
    """Check a manifest before any use of it: it may have been written by hand, and names become paths and arguments.

    Raises:
        ValueError: a name that is a path, a wheel without a checksum, two of one package, a value of another type.
    """
    target = manifest.target
    if target.device not in ("cpu", "cuda") or target.python not in PYTHONS or target.glibc not in range(5, 100):
        raise ValueError("its target is not a device, a Python and a glibc")
    if not isinstance(manifest.complete, bool):
        raise ValueError("complete is neither true nor false")
    if not all(isinstance(text, str) for pair in manifest.left_out.items() for text in pair):
        raise ValueError("left_out: names are wanted")
    for file, sha256 in manifest.wheels.items():
        if not wheel_key(file) or not SHA256.fullmatch(sha256):
            raise ValueError(f"{file[:120]!r} is no file name of a wheel, or has no sha256")
    if len(manifest.files()) < len(manifest.wheels):
        raise ValueError("a package is there twice")
    if not isinstance(manifest.built, list) or not set(manifest.built) <= manifest.wheels.keys():
        raise ValueError("built: files of its wheels are wanted")
    if not all(file.endswith("-none-any.whl") for file in manifest.built):
        raise ValueError("built: a wheel that is built from source is one for every machine (-none-any.whl)")


def own_wheels(folder: Path) -> list[Path]:
    """Return the wheels that the user put into a wheelhouse."""
    return sorted(path for path in folder.glob("*.whl") if path.is_file())


def checksum(path: Path) -> str:
    """Return the sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()

"""Parts of a given size: which wheels lie in which, and wheels that are larger than a part, cut and joined again."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trainer.setup.wheelhouse.manifest import Piece, Wheel, checksum

CHUNK = 1 << 20


def plan(wheels: Sequence[Wheel], part_size: int) -> list[Wheel]:
    """Return the wheels with their pieces, but for the checksums of those that have to be cut.

    With a ``part_size`` of 0 all lie in one folder, wheels. Else the largest come first, each piece into the first part
    that has room; a wheel above the size of a part fills parts of its own but for its last piece.
    """
    if not part_size:
        return [replace(each, pieces=(Piece("wheels", each.file, each.size, each.sha256),)) for each in wheels]
    room: list[int] = []  # of each part
    ordered = sorted(wheels, key=lambda each: (-each.size, each.file))
    places: dict[str, list[tuple[int, int]]] = {each.file: [] for each in ordered}  # (part, size)
    rests = []
    for each in ordered:
        whole = each.size // part_size if each.size > part_size else 0
        for _ in range(whole):
            places[each.file].append((len(room), part_size))
            room.append(0)
        if each.size > whole * part_size:
            rests.append((each.size - whole * part_size, each.file))
    for size, file in sorted(rests, key=lambda rest: (-rest[0], rest[1])):
        part = next((number for number, left in enumerate(room) if left >= size), len(room))
        room += [part_size] * (part == len(room))
        room[part] -= size
        places[file].append((part, size))
    digits = max(2, len(str(len(room))))
    return [replace(each, pieces=_pieces(each, places[each.file], digits)) for each in ordered]


def _pieces(wheel: Wheel, places: Sequence[tuple[int, int]], digits: int) -> tuple[Piece, ...]:
    if len(places) == 1:
        return (Piece(f"part{places[0][0] + 1:0{digits}}", wheel.file, wheel.size, wheel.sha256),)
    return tuple(
        Piece(f"part{part + 1:0{digits}}", f"{wheel.file}.{number:03}", size, "")
        for number, (part, size) in enumerate(places, 1)
    )


def cut(whole: Path, wheel: Wheel, folder: Path) -> Wheel:
    """Write the pieces of a wheel into their parts; return it with their checksums. ``whole`` stays."""
    pieces = []
    with whole.open("rb") as source:
        for piece in wheel.pieces:
            digest = hashlib.sha256()
            path = folder / piece.part / piece.file
            path.parent.mkdir(exist_ok=True)
            with path.open("wb") as target:
                left = piece.size
                while left:
                    chunk = source.read(min(CHUNK, left))
                    digest.update(chunk)
                    target.write(chunk)
                    left -= len(chunk)
            pieces.append(replace(piece, sha256=digest.hexdigest()))
    return replace(wheel, pieces=tuple(pieces))


def join(pieces: Sequence[Path], whole: Path) -> None:
    """Put a wheel together again, whole or not at all."""
    temporary = whole.with_name(f"{whole.name}.new")
    with temporary.open("wb") as target:
        for piece in pieces:
            with piece.open("rb") as source:
                while chunk := source.read(CHUNK):
                    target.write(chunk)
    temporary.replace(whole)


def locate(wheel: Wheel, found: dict[str, list[Path]]) -> tuple[list[Path], list[tuple[Piece, str]]]:
    """Return the files that make up a wheel, and the pieces that are not as they should be, each with the reason."""
    whole = next(_sound(wheel.file, wheel.size, wheel.sha256, found), None)
    if whole:
        return [whole], []
    paths, faults = [], []
    for piece in wheel.pieces:
        path = next(_sound(piece.file, piece.size, piece.sha256, found), None)
        if path:
            paths.append(path)
        else:
            faults.append((piece, "is damaged" if piece.file in found else "is missing"))
    return paths, faults


def _sound(file: str, size: int, sha256: str, found: dict[str, list[Path]]) -> Iterator[Path]:
    """The files of this name whose content is what it should be."""
    return (path for path in found.get(file, []) if path.stat().st_size == size and checksum(path) == sha256)

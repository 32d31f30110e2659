"""Wheels made in a moment, and real ones put together again from what is installed here."""

import hashlib
import importlib.metadata
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def wheel(folder: Path, name: str, version: str = "1.0", tag: str = "py3-none-any", payload: bytes = b"") -> Path:
    """Write a wheel of one module, ``name``, and perhaps a file of ``payload`` that cannot be made smaller."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = {version!r}\n".encode(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
        **({f"{name}.bin": payload} if payload else {}),
    }
    return _packed(folder / f"{name}-{version}-{tag}.whl", files, f"{info}/RECORD")


def installed(folder: Path, name: str) -> Path:
    """Write the wheel of a distribution that is installed in this environment."""
    found = importlib.metadata.distribution(name)
    inside = [path for path in found.files or [] if path.suffix != ".pyc" and path.name not in ("RECORD", "INSTALLER")]
    info = f"{found.metadata['Name'].replace('-', '_')}-{found.version}"
    files = {}
    for path in inside:
        place = path.as_posix()
        if place.startswith("../"):  # a program, in the environment's bin
            place = f"{info}.data/scripts/{path.name}"
        files[place] = Path(str(found.locate_file(path))).read_bytes()
    tag = (found.read_text("WHEEL") or "").partition("Tag: ")[2].splitlines()[0]
    return _packed(folder / f"{info}-{tag}.whl", files, f"{info}.dist-info/RECORD")


def source(folder: Path, name: str, version: str = "1.0") -> Path:
    """Write an sdist of one module."""
    setup = f"from setuptools import setup\nsetup(name={name!r}, version={version!r}, py_modules=[{name!r}])\n"
    build = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    files = {"setup.py": setup, "pyproject.toml": build, f"{name}.py": "", "PKG-INFO": f"Name: {name}\n"}
    path = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in files.items():
            member = tarfile.TarInfo(f"{name}-{version}/{file}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def hashes(lock: Path, sums: Mapping[str, str]) -> None:
    """Write the file of checksums beside a lock."""
    sources = {pin: " # source only" * pin.startswith("sdist-only") for pin in sums}
    lines = [f"{pin} --hash=sha256:{sums[pin]}{sources[pin]}" for pin in sums]
    lines = [f"# of {lock.name} with sha256 {sha256(lock)}", *lines]
    lock.with_suffix(".hashes.txt").write_text("\n".join(lines) + "\n")


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _packed(path: Path, files: Mapping[str, bytes], record: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if ".data/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, content)
        archive.writestr(record, "".join(f"{name},,\n" for name in [*files, record]))
    return path

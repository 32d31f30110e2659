"""Write the checksums of a lock's files beside it: ``hashes.py LOCK PYLOCK HASHES``, a step of lock.sh.

LOCK keeps its plain lines. HASHES has a line ``name==version --hash=sha256:...`` for each package that the index has,
with all files that a machine which the locks are for can take: wheels for Linux on x86-64, and the source. Its first
line has the checksum of the lock that it is of. ``# source only`` ends the line of a package with no such wheel: of no
other does a wheelhouse (trainer/setup/wheelhouse/) hold a wheel that was built.
"""

import hashlib
import re
import sys
from pathlib import Path

import tomllib

# Of a wheel's file name: an interpreter of 3.10 to 3.12 or any, and a platform of Linux on x86-64 or any.
FITS = re.compile(r".*-(?:[\w.]*py3[\w.]*|cp3\d+)-(?:none|abi3|cp31[012])-(?:any|[\w.]*linux[\w.]*_x86_64)\.whl")
SOURCE_ONLY = "# source only"
OTHERS = re.compile(r"musllinux|-cp3(?:[0-9]|1[3-9]|[2-9]\d)-cp3")


def lines(pylock: Path) -> list[str]:
    """Return a line a package."""
    found = []
    for package in tomllib.loads(pylock.read_text(encoding="utf-8"))["packages"]:
        wheels = [each for each in package.get("wheels", []) if _fits(each["url"])]
        files = [*wheels, *([package["sdist"]] if "sdist" in package else [])]
        hashes = sorted(f"--hash=sha256:{each['hashes']['sha256']}" for each in files)
        if hashes:
            marks = [] if wheels else [SOURCE_ONLY]
            found.append(" ".join([f"{package['name']}=={package['version']}{_marker(package)}", *hashes, *marks]))
    return found


def _marker(package: dict[str, str]) -> str:
    return f" ; {package['marker']}" if "marker" in package else ""


def _fits(url: str) -> bool:
    name = url.rsplit("/", 1)[-1]
    return bool(FITS.fullmatch(name)) and not OTHERS.search(name)


if __name__ == "__main__":
    lock, pylock, hashes = map(Path, sys.argv[1:])
    head = f"# of {lock.name} with sha256 {hashlib.sha256(lock.read_bytes()).hexdigest()}"
    hashes.write_text("\n".join([head, *lines(pylock)]) + "\n", encoding="utf-8")

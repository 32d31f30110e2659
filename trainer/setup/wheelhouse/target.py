"""The machine that wheels are for: its device, Python and glibc, and what follows for markers and file names."""

import os
import re
import sys
from dataclasses import dataclass

from pip._vendor.packaging.tags import Tag, compatible_tags, cpython_tags
from pip._vendor.packaging.utils import InvalidWheelFilename, parse_wheel_filename

PYTHONS = ("3.10", "3.11", "3.12")
OLD_NAMES = {17: "manylinux2014_x86_64", 12: "manylinux2010_x86_64", 5: "manylinux1_x86_64"}  # PEP 600


@dataclass(frozen=True)
class Target:
    """Linux on x86-64, which is what the locks are for, with CPython ``python`` ("3.12").

    ``glibc`` is the minor version of glibc 2 that the machine has: wheels may ask for it or an older one.
    """

    device: str
    python: str
    glibc: int

    def __str__(self) -> str:
        return f"{self.device}, Python {self.python}, {self.platform}"

    @property
    def platform(self) -> str:
        """The newest platform that wheels may be for, by its name in file names."""
        return f"manylinux_2_{self.glibc}_x86_64"

    def platforms(self) -> list[str]:
        """Return the names of all platforms that the machine can run, newest first (pip takes each by its name)."""
        names = []
        for minor in range(self.glibc, 4, -1):
            names += [f"manylinux_2_{minor}_x86_64", *([OLD_NAMES[minor]] if minor in OLD_NAMES else [])]
        return [*names, "linux_x86_64"]

    def fits(self, file: str) -> bool:
        """Return whether a wheel with this file name can be installed there."""
        return bool(parse_wheel_filename(file)[3] & self._tags())

    def _tags(self) -> set[Tag]:
        major, minor = map(int, self.python.split("."))
        tags = set(cpython_tags((major, minor), [f"cp{major}{minor}"], self.platforms()))
        return tags | set(compatible_tags((major, minor), f"cp{major}{minor}", self.platforms()))

    def markers(self) -> dict[str, str]:
        """Return the values of environment markers there."""
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "posix",
            "platform_machine": "x86_64",
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
            "extra": "",
        }


def own_python() -> str:
    """Return this interpreter's version, like 3.11."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def own_glibc() -> int:
    """Return the minor version of this machine's glibc 2; 28, the oldest that the locks' wheels run on, with none."""
    match = re.fullmatch(r"glibc 2\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION") or "")
    return int(match[1]) if match else 28


def name_and_version(file: str) -> tuple[str, str] | None:
    """Return what a wheel is of, by its file name; None where it is no wheel's."""
    try:
        name, version, *_ = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    return str(name), str(version)

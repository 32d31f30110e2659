"""The machine that wheels are for: its device, Python and glibc, and which wheels and markers fit it."""

import os
import re
import sys
from dataclasses import dataclass

from pip._vendor.packaging.tags import compatible_tags, cpython_tags
from pip._vendor.packaging.utils import InvalidWheelFilename, parse_wheel_filename

WHEEL = re.compile(r"[A-Za-z0-9_.+!-]{1,200}\.whl", re.ASCII)  # packaging lets a slash through
PYTHONS = ("3.10", "3.11", "3.12")
# Beside manylinux_2_N_x86_64: the names of 2_17, 2_12 and 2_5 before PEP 600, and wheels that name no glibc.
OTHER_PLATFORMS = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64")


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
        """Return the names of all platforms that the machine can run, newest first (pip expands no 2_N itself)."""
        return [*(f"manylinux_2_{minor}_x86_64" for minor in range(self.glibc, 4, -1)), *OTHER_PLATFORMS]

    def fits(self, file: str) -> bool:
        """Return whether this is the name of a wheel that can be installed there."""
        version, abi = tuple(map(int, self.python.split("."))), f"cp{self.python.replace('.', '')}"
        tags = {*cpython_tags(version, [abi], self.platforms()), *compatible_tags(version, abi, self.platforms())}
        return bool(wheel_key(file) and parse_wheel_filename(file)[3] & tags)

    def markers(self) -> dict[str, str]:
        """Return the values of environment markers there that can differ from those of this machine."""
        system = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
        return {**system, "python_version": self.python, "python_full_version": f"{self.python}.0"}


def own_python() -> str:
    """Return this interpreter's version, like 3.11."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def own_glibc() -> int:
    """Return the minor version of this machine's glibc 2; 28, the oldest that the locks' wheels run on, with none."""
    match = re.fullmatch(r"glibc 2\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION") or "")
    return int(match[1]) if match else 28


def wheel_key(file: str) -> tuple[str, str] | None:
    """Return the name and the version in the file name of a wheel; None where it is not one."""
    try:
        name, version, *_ = parse_wheel_filename(file if WHEEL.fullmatch(file) else "")
    except InvalidWheelFilename:
        return None
    return str(name), str(version)

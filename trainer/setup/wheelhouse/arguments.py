"""What is typed after ``./train.sh wheelhouse``."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from trainer.setup.host import gpu_count
from trainer.setup.wheelhouse.target import PYTHONS, Target, own_glibc, own_python
from trainer.user_error import UserError

EPILOG = """--without takes several, by commas: optional (what no run of this kit needs), torch (with its CUDA
libraries: the other machine has that version), tools (of ./test.sh and make check), or the name of a package that the
other machine has. All but optional and tools must be there at set-up. With --part_size, each folder partNN holds at
most as much, and larger wheels are cut; the folders may be brought one by one. Wheels of your own (flash-attn, say) go
into DIR too: set-up installs them. An interrupted command goes on where it stopped."""


@dataclass(frozen=True)
class Asked:
    """What kind of wheelhouse is asked for. ``part_size`` in bytes, 0 for one part; ``uv`` is its version."""

    folder: Path
    target: Target
    part_size: int
    without: list[str]
    uv: str


class _Parser(argparse.ArgumentParser):
    """argparse with the kit's way to complain."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"wheelhouse: {message}; ./train.sh wheelhouse --help says what there is")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="./train.sh wheelhouse",
        description="Collect what set-up installs, for a machine with no package index.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="DIR", help="a new folder, or a wheelhouse that is to be finished or renewed")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="of the other machine (default: of this one)")
    parser.add_argument("--python", choices=PYTHONS, default=own_python(), help="of the other machine (%(default)s)")
    glibc = f"manylinux_2_{own_glibc()}_x86_64"
    parser.add_argument(
        "--platform", default=glibc, help="its newest: 2_39 for the glibc 2.39 of ldd --version (%(default)s)"
    )
    parser.add_argument("--part_size", metavar="MiB", help="size of a part (default: one part of any size)")
    parser.add_argument("--without", metavar="LIST", default="", help="what is left out")
    parser.add_argument("--uv", help=argparse.SUPPRESS)
    return parser


def read(words: list[str]) -> Asked:
    """Return what is asked for.

    Raises:
        UserError: with every fault found.
    """
    flags = [re.sub(r"^--[\w-]+", lambda name: "--" + name[0][2:].replace("-", "_"), word) for word in words]
    typed = _parser().parse_args(flags)
    faults = []
    platform = re.fullmatch(r"manylinux_2_(\d{1,2})_x86_64", typed.platform)
    if not platform or int(platform[1]) < 28:
        faults.append(
            f"--platform {typed.platform}: allowed: manylinux_2_N_x86_64 with N of 28 or more (the locks are for Linux "
            "on x86-64; vLLM wants glibc 2.28)"
        )
    size = typed.part_size
    if size is not None and not re.fullmatch(r"[1-9]\d*", size):
        faults.append(f"--part_size {size}: allowed: a whole number of MiB, 1 or more")
    if faults:
        raise UserError(*faults)
    assert platform is not None
    device = typed.device or ("cuda" if gpu_count() else "cpu")
    without = [word.strip() for word in typed.without.split(",") if word.strip()]
    return Asked(
        Path(typed.folder).expanduser().resolve(),
        Target(device, typed.python, int(platform[1])),
        int(size or 0) << 20,
        without,
        typed.uv,
    )

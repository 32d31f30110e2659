"""What a refusal is: one line a fault, which a person can act on, and nothing of Python's."""

import os
import re
import socket
from pathlib import Path

from tests.attacks import bad_input_refused as table
from tests.support.command import Result

MOST_LINES, MOST_CHARACTERS = 12, 700
PYTHON = re.compile(
    r"Traceback|Errno|NoneType|<class|<[\w. ]+ at 0x|has no attribute|invalid literal|PosixPath\(|(?<![\w/ ])b'\\|"
    r"codec can't|"
    r"File \"|unhashable|not iterable|not subscriptable|takes \d+ positional|unsupported operand|Exception\b|"
    r"ConfigAttribute|\(null\)|bad array|not a valid identifier|unbound variable|\.sh: line \d+: "
)
TYPES = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def make_things(folder: Path) -> None:
    """Make all files, folders, links and pipes of the tables in ``folder``."""
    for name, content in {**table.FILES, **table.NEVER_ENDING}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    for name, kind in table.THINGS.items():
        path = folder / name
        if kind == "folder":
            path.mkdir()
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            here = Path.cwd()
            os.chdir(folder)  # the path of a socket has 107 bytes at most
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(name)
            os.chdir(here)
        else:
            path.symlink_to(kind.removeprefix("link to "))


def refusal_lines(result: Result, command: str) -> list[str]:
    """Return the lines that refuse: those on stderr, and the failures of ``check``."""
    lines = [line for line in result.err.split("\n") if line.strip()]
    return lines + [line for line in result.out.split("\n") if command == "check" and line.startswith("fail")]


def wrong_with(result: Result, words: tuple[str, ...], says: str) -> list[str]:
    """Return what is wrong with how ``words`` were refused; nothing where a person is told what to fix."""
    lines = refusal_lines(result, words[0])
    faults = [] if result.status == 2 else [f"status {result.status}"]
    if says and not any(says in line for line in lines):
        faults.append(f"no line has {says!r}")
    return faults + wrong_in_lines(lines, any(word.endswith((".py", ":f")) for word in words))


def wrong_in_lines(lines: list[str], of_a_function: bool = False) -> list[str]:
    """Return what is wrong with the lines of a refusal; ``of_a_function``: the person's own code may name errors."""
    faults = [f"{len(lines)} lines"] if len(lines) > MOST_LINES else []
    for line in lines:
        if len(line) > MOST_CHARACTERS:
            faults.append(f"a line of {len(line)} characters")
        if found := PYTHON.search(line):
            faults.append(f"a word of Python's: {found[0]!r}")
        if not of_a_function and (found := TYPES.search(line)):
            faults.append(f"a word of Python's: {found[0]!r}")
        if found := CONTROL.search(line):
            faults.append(f"a control character: {found[0]!r}")
    return faults

"""The temporary folder of one run: made, held by a lock, removed whatever the code left in it.

Where the kernel permits no namespaces the folder is on disk and code can leave anything there: thousands of nested
folders, names of 255 bytes, folders without permissions, links. Removal is therefore iterative, follows no link, opens
two descriptors at most, and never raises. What takes long (ext4 takes up to 1 ms for a folder) is done by a process of
its own with a budget; what is left over is removed when a server next starts.
"""

import contextlib
import fcntl
import glob
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

PREFIX = "kit-code-"
SETTLED = 60.0  # seconds; a younger folder may be about to be locked
AT_ONCE = 0.5  # seconds of removal for which the next run waits
ENTRIES, SECONDS = 2_000_000, 120.0  # of a removal that nobody waits for
MOST_AT_ONCE = 256  # folders of one sweep
MOST_DESCRIPTORS = 1 << 20
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
Result = TypeVar("Result")


class RemovalBudget:
    """What a removal may cost."""

    def __init__(self, entries: int = ENTRIES, seconds: float = SECONDS) -> None:
        self._entries, self._deadline = entries, time.monotonic() + seconds

    def spend(self) -> None:
        """Count one entry.

        Raises:
            TimeoutError: the budget is spent.
        """
        self._entries -= 1
        if self._entries < 0 or time.monotonic() > self._deadline:
            raise TimeoutError


@contextmanager
def run_folder() -> Iterator[str]:
    """Make a folder for one run, and hold its lock; remove it with all that is in it."""
    folder = tempfile.mkdtemp(prefix=PREFIX)
    lock_fd = lock(folder)
    try:
        yield folder
    finally:
        _clear({folder: lock_fd})


def lock(folder: str) -> int:
    """Return a descriptor that holds the lock of a folder until the last process that has it has ended.

    Raises:
        OSError: somebody else holds it.
    """
    lock_fd = os.open(folder, OPEN_FOLDER)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock_fd)
        raise
    return lock_fd


def sweep() -> None:
    """Remove folders whose server was killed before it could: those that nobody holds."""
    abandoned = {}
    for folder in glob.glob(f"{tempfile.gettempdir()}/{PREFIX}*"):  # noqa: PTH207 - pathlib would cost a millisecond
        with contextlib.suppress(OSError):
            if time.time() - os.stat(folder, follow_symlinks=False).st_mtime > SETTLED:  # noqa: PTH116
                abandoned[folder] = lock(folder)
        if len(abandoned) == MOST_AT_ONCE:
            break
    _clear(abandoned)


def _clear(folders: dict[str, int]) -> None:
    """Remove folders, of which a descriptor is given and closed; what takes long is done by a process of its own."""
    budget = RemovalBudget(seconds=AT_ONCE)
    for folder, lock_fd in folders.items():
        remove(folder, lock_fd, budget)
    left = {folder: lock_fd for folder, lock_fd in folders.items() if os.path.lexists(folder)}
    if left:
        with contextlib.suppress(OSError):
            _clear_in_background(left)
    for lock_fd in folders.values():
        os.close(lock_fd)


def _clear_in_background(folders: dict[str, int]) -> None:
    """Fork twice: nobody waits for it, and it keeps nobody's pipe open."""
    if child := os.fork():
        os.waitpid(child, 0)
        return
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        null = os.open("/dev/null", os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        for low, high in pairwise([2, *sorted(folders.values()), MOST_DESCRIPTORS]):
            os.closerange(low + 1, high)
        os.setsid()
        if not os.fork():
            os.nice(10)
            budget = RemovalBudget()
            for folder, lock_fd in folders.items():
                remove(folder, lock_fd, budget)
    finally:
        os._exit(0)


def remove(folder: str, lock_fd: int, budget: RemovalBudget) -> None:
    """Remove a folder, of which ``lock_fd`` is a descriptor, as far as the budget goes; never raise."""
    with contextlib.suppress(OSError):
        Removal(lock_fd, budget).run()
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # noqa: PTH106 - pathlib would cost a millisecond


class Removal:
    """Empties the folder ``top``: what lies deeper is moved into it first, so that no path is ever long."""

    def __init__(self, top: int, budget: RemovalBudget) -> None:
        self._top, self._budget = top, budget

    def run(self) -> None:
        """Remove until nothing is left, or nothing more can be removed.

        Raises:
            OSError: the budget is spent, or the folder cannot be read.
        """
        while self._try_entries(self._top, self._remove_folder):
            pass

    def _try_entries(self, folder: int, on_folder: Callable[[int, str], None]) -> int:
        """Try to remove each entry of a folder once; return how many are gone."""
        gone = 0
        with os.scandir(folder) as entries:
            for entry in entries:
                self._budget.spend()
                with contextlib.suppress(_Stuck):
                    if _is_folder(entry):
                        on_folder(folder, entry.name)
                    else:
                        _attempt(os.unlink, entry.name, dir_fd=folder)
                    gone += 1
        return gone

    def _remove_folder(self, parent: int, name: str) -> None:
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError:
            folder = _attempt(_open_permitted, parent, name)
            try:
                self._try_entries(folder, self._move_up)
            finally:
                os.close(folder)
            _attempt(os.rmdir, name, dir_fd=parent)

    def _move_up(self, parent: int, name: str) -> None:
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError:
            os.close(_attempt(_open_permitted, parent, name))  # a folder that changes its parent must be writable
            _attempt(os.rename, name, secrets.token_hex(16), src_dir_fd=parent, dst_dir_fd=self._top)


class _Stuck(Exception):
    """One entry cannot be removed now."""


def _attempt(call: Callable[..., Result], *arguments: Any, **names: Any) -> Result:
    try:
        return call(*arguments, **names)
    except OSError as error:
        raise _Stuck from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return _attempt(entry.is_dir, follow_symlinks=False)


def _open_permitted(parent: int, name: str) -> int:
    """Open a folder, which may lack all permissions, and give its owner all; never one behind a link."""
    path = os.open(name, OPEN_FOLDER | os.O_PATH, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{path}", 0o700)  # noqa: PTH101 - O_PATH permits no fchmod
        return os.open(".", OPEN_FOLDER, dir_fd=path)
    finally:
        os.close(path)

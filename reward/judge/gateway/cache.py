"""Verdicts and what they cost, on disk: SQLite in WAL mode, for any number of runs that write at once.

Writing is a thread's work and reading never waits for a writer. What is not written yet is answered from memory.
"""

import contextlib
import logging
import queue
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from reward.judge.verdict import Verdict
from reward.support import events
from reward.support.secret import hide

logger = logging.getLogger(__name__)
BUSY_TIMEOUT = 60.0  # seconds to wait for other writers
TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (key BLOB PRIMARY KEY, raw REAL, reason TEXT, model TEXT, day TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (run TEXT PRIMARY KEY, calls INTEGER, input INTEGER, output INTEGER, money REAL);
"""
ADD_SPENT = (
    "INSERT INTO spent VALUES (?, ?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET calls = calls + excluded.calls, "
    "input = input + excluded.input, output = output + excluded.output, money = money + excluded.money"
)

TAKE_OVER = "INSERT OR IGNORE INTO spent SELECT ?, calls, input, output, money FROM spent WHERE run = ?"


@dataclass(frozen=True)
class Spent:
    """What was paid for: requests, tokens, money."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.money + other.money,
        )


class CacheError(Exception):
    """A file that cannot be the cache; the message says why and what to do."""


class Cache:
    """The verdicts of all runs and the spending of one, ``run``, with that of ``resumed``, which it goes on from.

    Without a ``path`` nothing is kept.

    A file that fails costs money, never a run: it is said once, and the run goes on without it.
    """

    def __init__(self, path: Path | None, run: str = "", resumed: str = "") -> None:
        self.run = run
        self.spent_before = Spent()
        self._path = path
        self._fresh: dict[bytes, Verdict] = {}  # not written yet
        self._tasks: queue.SimpleQueue[tuple[str, tuple[object, ...]] | None] = queue.SimpleQueue()
        self._warned = self._unreadable = False
        if path is None:
            return
        try:
            self._reader, self._writer = _open(path), _open(path)
            columns = "calls, input, output, money"
            if run and resumed:  # once: the first time that the run begins
                self._writer.execute(TAKE_OVER, (run, resumed))
            row = self._reader.execute(f"SELECT {columns} FROM spent WHERE run = ?", (run,)).fetchone()
        except (sqlite3.Error, OSError) as error:
            self._path = None
            self._say(f"the judge's cache {path} cannot be opened, and the run continues without it: {error}")
            return
        self.spent_before = Spent(*row) if row and run else Spent()
        self._thread = threading.Thread(target=self._write, name="judge-cache", daemon=True)
        self._thread.start()

    def get(self, key: bytes) -> Verdict | None:
        """Return the verdict of ``key``, if there is one."""
        if self._path is None:
            return None
        kept = self._fresh.get(key)
        if kept is not None or self._unreadable:
            return kept
        try:
            row = self._reader.execute("SELECT raw, reason FROM verdicts WHERE key = ?", (key,)).fetchone()
            return Verdict(float(row[0]), str(row[1])) if row else None
        except (sqlite3.Error, TypeError, ValueError) as error:
            self._unreadable = True
            self._say(f"the judge's cache {self._path} cannot be read, and the run continues without it: {error}")
            return None

    def put(self, key: bytes, kept: Verdict, model: str) -> None:
        """Keep a verdict."""
        if self._path is not None:
            self._fresh[key] = kept
            reason = hide(kept.reason.encode(errors="replace").decode())  # a judge may answer half a character
            values = (key, kept.raw, reason, model, time.strftime("%Y-%m-%d"))
            self._tasks.put(("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, ?)", values))

    def pay(self, spent: Spent) -> None:
        """Add to the spending of the run, if it has a name."""
        if self._path is not None and self.run:
            values = (self.run, spent.calls, spent.input_tokens, spent.output_tokens, spent.money)
            self._tasks.put((ADD_SPENT, values))

    def close(self) -> None:
        """Write what is not written yet."""
        if self._path is None:
            return
        self._tasks.put(None)
        self._thread.join()
        self._path = None
        for connection in (self._reader, self._writer):
            connection.close()

    def _write(self) -> None:
        going = True
        while going:
            batch = [self._tasks.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < 1_000:
                    batch.append(self._tasks.get_nowait())
            going = None not in batch
            self._commit([task for task in batch if task is not None])

    def _commit(self, batch: list[tuple[str, tuple[object, ...]]]) -> None:
        """Write a batch; a disk that is full or gone loses it."""
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for statement, values in batch:
                self._writer.execute(statement, values)
            self._writer.execute("COMMIT")
        except (sqlite3.Error, ValueError, OverflowError) as error:
            self._say(f"the judge's cache {self._path} cannot be written, and verdicts are lost to it: {error}")
            with contextlib.suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")
        for statement, values in batch:
            if statement is not ADD_SPENT:
                self._fresh.pop(values[0], None)  # type: ignore[call-overload]

    def _say(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            events.warn(logger, "judge", "judge", text)


def try_out(path: Path) -> None:
    """Open and write the cache, before a run relies on it; a file that is no database is put aside, and that is said.

    Raises:
        CacheError: it cannot be used.
    """
    try:
        with contextlib.closing(_open(path)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO spent VALUES ('', 0, 0, 0, 0) ON CONFLICT (run) DO NOTHING")
            database.execute("SELECT raw, reason FROM verdicts LIMIT 1").fetchone()
            database.execute("ROLLBACK")
    except (sqlite3.Error, OSError) as error:
        raise CacheError(
            f"the judge's cache {path} cannot be used ({error}); fix or remove it, or name another file with cache: "
            'in config/api_reward_config.yaml ("" for none)'
        ) from None


def _open(path: Path) -> sqlite3.Connection:
    """Open the file, or a new one where it is no database: the broken one is kept beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # locked, no permission: the file is not at fault
            raise
        broken = path.with_suffix(f".broken-{time.strftime('%Y%m%d-%H%M%S')}")
        path.rename(broken)
        for suffix in ("-wal", "-shm"):  # of the broken one: they must not reach the new one
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        text = f"the judge's cache {path} is broken ({error}); it is now {broken}, and a new one begins"
        events.warn(logger, "judge", "judge", text)
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        _use_wal(database)
        # A crash of the machine may lose the last verdicts, never the file.
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(TABLES)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _use_wal(database: sqlite3.Connection) -> None:
    """Change a new file to WAL mode, which SQLite refuses without waiting while another process does it."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:  # Python 3.10 has no code of it
                raise
            time.sleep(0.01)

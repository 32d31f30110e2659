"""Score a file offline, with the code that training uses: ``./train.sh score FILE [--out OUT]``.

FILE is JSONL; a row has ``prompt``, ``response``, ``ground_truth``, ``data_source`` and perhaps ``extra_info``. OUT
gets one JSON line a row, in order, with the same keys in each: ``row``, ``score`` (null where there is none), every
component (null where it is not known), ``error`` (null, or why there is no score), ``key`` (a hash of row and reward,
by which an interrupted run knows where to continue). z-scores go by all rows of FILE: a score that has one is null
until the last row is scored.
"""

import codecs
import hashlib
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from reward.row import Reward
from reward.support.redact import screen
from reward.zscore import ZScores

AHEAD = 8  # rows in work for each thread
BINS = 10
CHUNK = 4096  # rows that z-scores see at a time
PENDING = "not yet: its z-scores go by all rows, and some are not scored"


class ScoreError(ValueError):
    """The command cannot be done; the message says what to fix."""


@dataclass
class Summary:
    """What is said at the end."""

    scores: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def add(self, result: dict[str, Any]) -> None:
        """Count one row."""
        if result["score"] is None:
            self.errors.append(str(result["error"]))
        else:
            self.scores.append(float(result["score"]))

    def lines(self, seconds: float) -> list[str]:
        """Return the summary as a person reads it."""
        total = len(self.scores) + len(self.errors)
        lines = [f"{total:,} rows, {len(self.errors):,} unscored, {seconds:.1f} s"]
        if self.errors:
            lines.append(f"the first that is unscored: {self.errors[0]}")
        if self.scores:
            mean, zero = sum(self.scores) / len(self.scores), self.scores.count(0.0) / len(self.scores)
            lines += [f"mean {mean:.4f}, {zero:.1%} at 0", *histogram(self.scores)]
        return lines


def histogram(scores: list[float]) -> list[str]:
    """Return bars of ten bins from the least to the greatest score."""
    low, high = min(scores), max(scores)
    width = (high - low) / BINS or 1.0
    counts = [0] * BINS
    for score in scores:
        counts[min(BINS - 1, int((score - low) / width))] += 1
    return [
        f"{low + i * width:8.3f}  {'#' * round(40 * count / len(scores)):40} {count:,}"
        for i, count in enumerate(counts if high > low else counts[:1])
    ]


def key(line: bytes, identity: bytes) -> str:
    """Return the hash of a row and the reward that scored it."""
    return hashlib.blake2b(line.strip() + b"\0" + identity, digest_size=8).hexdigest()


def done_before(out: Path, source: Path, identity: bytes) -> int:
    """Return how many rows ``out`` has already; a line that was cut off is removed.

    Raises:
        ScoreError: it is the result of other rows, or of another reward.
    """
    if not out.exists():
        return 0
    count = size = 0
    with out.open("rb") as results, source.open("rb") as rows:
        for result, line in zip_longest(results, _lines(rows)):
            if result is None:
                break
            begun = b'{"row": %d,' % count  # as each result does
            is_cut = line is not None and not result.endswith(b"\n") and result[: len(begun)] == begun[: len(result)]
            if is_cut:
                break
            if line is None or not _is_of(result, key(line, identity)):
                raise ScoreError(f"{out}: not a result of {source} and this reward; remove it, or give another --out")
            count, size = count + 1, size + len(result)
    os.truncate(out, size)
    return count


def _is_of(result: bytes, key: str) -> bool:
    try:
        return bool(json.loads(result)["key"] == key)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _lines(stream: Any) -> Iterator[bytes]:
    lines = (line.removeprefix(codecs.BOM_UTF8) if not number else line for number, line in enumerate(stream))
    return (line for line in lines if line.strip())


def run(source: Path, out: Path, reward: Reward, say: Callable[[str], None]) -> Summary:
    """Score what is not scored yet, in order, and return the summary of all.

    Raises:
        ScoreError: a file is not there, or ``out`` is another file's.
        RewardFunctionError: the user's function cannot be loaded.
    """
    if not source.is_file():
        raise ScoreError(f"{source}: there is no such file; JSONL is wanted")
    score, identity, zscores = reward.line_scorer(), reward.identity, reward.zscores
    with source.open("rb") as stream:
        total = sum(1 for _ in _lines(stream))
    if not total:
        raise ScoreError(f"{source}: there is nothing to score, as it is empty; one JSON object a line is wanted")
    skipped = done_before(out, source, identity)
    if skipped:
        say(f"{skipped:,} rows are in {out} already; going on")
    waiting: deque[tuple[int, bytes, Future[dict[str, Any]]]] = deque()
    with (
        source.open("rb") as stream,
        out.open("ab") as results,
        ThreadPoolExecutor(reward.threads) as pool,
        _progress(total, skipped) as advance,
    ):

        def write() -> None:
            number, line, future = waiting.popleft()
            result = future.result()
            if zscores is not None and not result["unscored"]:
                result |= {"score": None, "error": PENDING}
            record = {"row": None, **result} | {"row": number, "key": key(line, identity)}
            results.write(_json(record))
            results.flush()
            advance()

        try:
            for number, line in enumerate(_lines(stream)):
                if number < skipped:
                    continue
                waiting.append((number, line, pool.submit(score, line)))
                if len(waiting) >= AHEAD * reward.threads:
                    write()
            while waiting:
                write()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return _finish(out, zscores)


def _finish(out: Path, zscores: ZScores | None) -> Summary:
    """Summarise results; first write them anew where they need z-scores, or have not all the same keys."""
    names: dict[str, None] = {}
    ragged = False
    for chunk in chunks(out):
        for row in chunk:
            ragged = ragged or (bool(names) and names.keys() != row.keys())
            names |= dict.fromkeys(row)
        if zscores is not None:
            zscores.see(chunk)
    if zscores is not None or ragged:
        partial = out.with_name(f"{out.name}.partial")
        order = [*(name for name in names if name not in ("error", "key")), "error", "key"]
        with partial.open("wb") as results:
            for chunk in chunks(out):
                for row in chunk:
                    if zscores is not None and not row["unscored"]:
                        row = {**zscores.scaled(row), "error": None}
                    results.write(_json({name: row.get(name) for name in order}))
        partial.replace(out)
    summary = Summary()
    for chunk in chunks(out):
        for row in chunk:
            summary.add(row)
    return summary


def chunks(out: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the results of a file, some thousand at a time."""
    with out.open("rb") as results:
        rows = map(json.loads, results)
        while chunk := list(islice(rows, CHUNK)):
            yield chunk


def _json(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode(errors="replace") + b"\n"


@contextmanager
def _progress(total: int, skipped: int) -> Iterator[Callable[[], None]]:
    """Show a bar, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=screen(sys.stderr)), transient=True) as bar:
        task = bar.add_task("scoring", total=total, completed=skipped)
        yield lambda: bar.advance(task)

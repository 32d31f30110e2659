"""Where a start and its steps go: CPU seconds by process and phase, and a picture of who works when.

    .venv/bin/python -m tests.bench.timeline [--svg FILE] [train.sh arguments]

Samples /proc twice a second. CPU seconds count the process's own threads, and hardly change with what else the machine
does; the seconds of a phase do. A process is named by what Ray or vLLM calls it at its busiest.
"""

import argparse
import contextlib
import itertools
import re
import subprocess
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import psutil

from tests.support.command import clean_environment
from trainer import ROOT

EVERY = 0.5  # seconds
SAID = re.compile(r"\[ *\d+ s\] (?P<what>.*)")
STEP = re.compile(r"^step \d+/.*")  # its line says that it has ended
ROW, LEFT, SECOND = 18, 230, 6  # of the picture, in pixels


@dataclass
class Lane:
    """One process: CPU seconds by title and by time."""

    pid: int
    titles: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    busy: list[tuple[float, float]] = field(default_factory=list)  # (time, cores) of each sample
    total: float = 0.0  # CPU seconds

    @property
    def name(self) -> str:
        """The title under which it worked most, without Ray's idle ones where it has another."""
        named = {title: used for title, used in self.titles.items() if title != "ray::IDLE"} or self.titles
        return max(named, key=lambda title: named[title])

    def add(self, now: float, title: str, cpu: float, seconds: float) -> None:
        """Count what was used since the last sample."""
        used = max(0.0, cpu - self.total)
        self.total = max(cpu, self.total)
        self.titles[title] += used
        self.busy.append((now, used / seconds))

    def between(self, start: float, end: float) -> float:
        """Return the CPU seconds from ``start`` to ``end``."""
        return sum(cores * EVERY for at, cores in self.busy if start <= at < end)


def title(process: psutil.Process) -> str:
    """Return a short name of a process."""
    words = process.cmdline() or [process.name()]
    first = Path(words[0]).name if not words[0].startswith(("ray::", "VLLM")) else words[0]
    if first.startswith("ray::"):
        return first.split(" ")[0].split(".")[0]
    if first.startswith("python"):
        rest = [Path(word).name for word in words[1:] if not word.startswith("-")]
        return f"python {rest[0]}" if rest else "python"
    return first.split(" ")[0]


def sample(root: psutil.Process, lanes: dict[int, Lane], started: float, last: float) -> float:
    """Look at all processes once; return the time of it."""
    now = time.monotonic()
    with contextlib.suppress(psutil.Error):
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                lane = lanes.setdefault(process.pid, Lane(process.pid))
                lane.add(now - started, title(process), times.user + times.system, now - last)
    return now


def record(arguments: list[str]) -> tuple[dict[int, Lane], list[tuple[float, str]]]:
    """Run ``train.sh``; return its processes, and when which phase began."""
    marks: list[tuple[float, str]] = [(0.0, "train.sh: checks")]
    lanes: dict[int, Lane] = {}
    started = last = time.monotonic()
    command = [str(ROOT / "train.sh"), *arguments]
    with psutil.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, text=True) as run:

        def listen() -> None:
            for line in run.stdout:
                print(line, end="", flush=True)
                if line.startswith("writes "):
                    marks.append((time.monotonic() - started, "starting Ray"))
                found = SAID.match(line)
                if found and not found["what"].startswith("still at"):
                    marks.append((time.monotonic() - started, STEP.sub("step", found["what"])))

        reader = threading.Thread(target=listen)
        reader.start()
        while run.poll() is None:
            last = sample(run, lanes, started, last)
            time.sleep(EVERY)
        reader.join()
        marks.append((time.monotonic() - started, "end"))
    return lanes, marks


def table(lanes: list[Lane], marks: list[tuple[float, str]]) -> str:
    """Return CPU seconds by process and phase as Markdown; a mark names what begins, a step's what has ended."""
    spans = [(a, b, name) for (a, name), (b, _) in itertools.pairwise(marks)]
    lines = ["| Process | " + " | ".join(f"{name} ({b - a:.0f} s)" for a, b, name in spans) + " | all |"]
    lines.append("|---" * (len(spans) + 2) + "|")
    for lane in lanes:
        cells = [f"{lane.between(a, b):.1f}" for a, b, _ in spans]
        lines.append(f"| {lane.name} | {' | '.join(cells)} | {lane.total:.1f} |")
    sums = [f"{sum(lane.between(a, b) for lane in lanes):.1f}" for a, b, _ in spans]
    lines.append(f"| all | {' | '.join(sums)} | {sum(lane.total for lane in lanes):.1f} |")
    return "\n".join(lines)


def picture(lanes: list[Lane], marks: list[tuple[float, str]]) -> str:
    """Return the timeline by process as SVG: the darker, the more of a core."""
    end = marks[-1][0]
    width, height = LEFT + end * SECOND + 20, (len(lanes) + 2) * ROW
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-size="11">']
    parts.append('<rect width="100%" height="100%" fill="white"/><g font-family="sans-serif">')
    for at, name in marks[:-1]:
        x = LEFT + at * SECOND
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="0" y2="{height}" stroke="#c33" stroke-width="0.5">')
        parts.append(f"<title>{escape(name)}</title></line>")
    for row, lane in enumerate(lanes, 1):
        y = row * ROW
        parts.append(f'<text x="4" y="{y + 12}">{escape(lane.name)} ({lane.total:.0f} s)</text>')
        for at, cores in lane.busy:
            if cores > 0.02:
                parts.append(
                    f'<rect x="{LEFT + (at - EVERY) * SECOND:.1f}" y="{y}" width="{EVERY * SECOND:.1f}" '
                    f'height="{ROW - 3}" fill="#2457a6" opacity="{min(1.0, cores):.2f}"/>'
                )
    return "".join(parts) + "</g></svg>"


def main() -> None:
    """Run once; print the table, write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", type=Path, default=Path("timeline.svg"))
    options, arguments = parser.parse_known_args()
    lanes, marks = record(arguments)
    busy = sorted((lane for lane in lanes.values() if lane.total >= 0.5), key=lambda lane: lane.busy[0][0])
    print(table(busy, marks))
    options.svg.write_text(picture(busy, marks), encoding="utf-8")
    print(f"the picture: {options.svg}")


if __name__ == "__main__":
    main()

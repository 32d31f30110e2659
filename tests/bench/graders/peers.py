"""Graders of other projects, asked in a Python of their own: nothing of them enters the kit's environment."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A question is a line of JSON, its answer a number; what breaks is 0.
LOOP = """
import json, os, select, sys
out, write, leave, fork, wait, kill_group = os.dup(1), os.write, os._exit, os.fork, os.waitpid, os.killpg
os.dup2(2, 1)
{setup}
def judge(asked):
    try:
        return float({verdict})
    except BaseException:
        return 0.0
def judge_in_fork(asked):
    reader, writer = os.pipe()
    child = fork()
    if not child:
        os.setsid()
        write(writer, repr(judge(asked)).encode())
        leave(0)
    os.close(writer)
    # The limit is kept here: a grader takes alarms for itself, and its own processes keep the pipe open.
    verdict = float(os.read(reader, 64) or 0) if select.select([reader], [], [], {seconds})[0] else 0.0
    os.close(reader)
    try:
        kill_group(child, 9)
    except ProcessLookupError:
        pass
    wait(child, 0)
    return verdict
for line in sys.stdin:
    write(out, b"%r\\n" % {judge}(json.loads(line)))
"""


@dataclass(frozen=True)
class Peer:
    """A grader.

    Attributes:
        name: of the project, with its version or licence where they matter.
        setup: Python that imports it.
        verdict: an expression of ``asked``, the question, that is the grader's score.
        packages: what ``uv`` installs for it, in uv's cache; nothing: the kit's own environment is asked.
        paths: folders of the copies that it imports from.
        seconds: each question is asked in a fork, which is killed after so long with all that it started, where the
            grader may stall, or takes functions of the interpreter away; 0: in one process.
    """

    name: str
    setup: str
    verdict: str
    packages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    seconds: int = 0


def ask(peer: Peer, copies: Path, questions: Sequence[Any]) -> list[float]:
    """Return a peer's scores.

    Raises:
        SystemExit: it cannot be installed, or ended early.
    """
    command = [sys.executable]
    if peer.packages:
        uv = str(Path(sys.executable).with_name("uv"))
        command = [uv, "run", "--quiet", "--isolated", "--no-project", "--python", sys.executable]
        command += [part for package in peer.packages for part in ("--with", package)] + ["python"]
    judge = "judge_in_fork" if peer.seconds else "judge"
    source = LOOP.format(setup=peer.setup, verdict=peer.verdict, seconds=peer.seconds, judge=judge)
    paths = [str((copies / path).resolve()) for path in peer.paths]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "NLTK_DATA": str((copies / "nltk_data").resolve()),
    }
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run(
        [*command, "-c", source], input=asked, capture_output=True, text=True, check=False, env=environment
    )
    scores = [float(score) for score in done.stdout.split()]
    if len(scores) != len(questions):
        raise SystemExit(f"{peer.name}: {len(scores)} answers to {len(questions)}: {done.stderr.strip()[-500:]}")
    return scores

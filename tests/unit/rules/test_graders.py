"""Graders of other projects, as ``tests.bench.graders`` asks them."""

import time
from pathlib import Path

from tests.bench.graders.peers import Peer, ask

# Its own process holds the pipe open, and an alarm of its own replaces one that was set for it.
STALLS = "1.0 if asked == 1 else (signal.alarm(0), os.fork(), time.sleep(60))[2]"


def test_a_grader_that_stalls_says_0_and_the_next_question_is_asked(tmp_path: Path) -> None:
    begin = time.monotonic()
    peer = Peer("one that stalls", "import signal, time", STALLS, seconds=2)
    assert ask(peer, tmp_path, [1, 2, 1]) == [1.0, 0.0, 1.0]
    assert time.monotonic() - begin < 50

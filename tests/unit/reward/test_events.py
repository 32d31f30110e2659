"""``events.jsonl``: what the processes of a run tell one another."""

import json
import re
import subprocess
import sys

import pytest

from reward.support import events
from trainer import ROOT

WRITER = """
import sys
from reward.support import events
from trainer import ROOT
for number in range(200):
    events.emit("worker", "judge", text=f"{sys.argv[1]} {number} " + "x" * 900)
"""


def test_what_is_written_is_read(tmp_path, monkeypatch) -> None:
    path = tmp_path / events.FILE
    monkeypatch.setenv(events.PATH, str(path))
    events.emit("driver", "phase", name="ready")
    events.append(path, "launcher", "alarm", step=3, name="kl", text="too\nlarge")
    first, second = events.read(path)
    assert (first.process, first.kind, first.fields) == ("driver", "phase", {"name": "ready"})
    assert (second.kind, second.fields) == ("alarm", {"step": 3, "name": "kl", "text": "too\nlarge"})
    assert path.stat().st_mode & 0o777 == 0o600


def test_many_writers_at_once_mix_no_lines(tmp_path) -> None:
    path = tmp_path / events.FILE
    command = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*command, str(n)], env={"KIT_EVENTS": str(path)}) for n in range(4)]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 4
    found = [event.fields["text"].split()[:2] for event in events.read(path)]
    for n in range(4):
        assert [number for writer, number in found if writer == str(n)] == [str(number) for number in range(200)]


def test_no_secret_gets_into_them(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789")
    events.append(tmp_path / events.FILE, "driver", "judge", text="refused: sk-canary-0123456789")
    assert "canary" not in (tmp_path / events.FILE).read_text()


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "7", '{"kind": "phase"}', '{"time": 1, "process": "x", "kind": "of a later version"}', "\ud800"],
)
def test_a_reader_passes_over_what_it_does_not_know(line) -> None:
    good = json.dumps({"time": 1.5, "process": "driver", "pid": 1, "kind": "network", "text": "1 GB/s"})
    (event,) = events.parse([line, good])
    assert event == events.Event(1.5, "driver", "network", {"text": "1 GB/s"})


def test_a_disk_that_is_full_or_gone_ends_nothing(tmp_path, monkeypatch) -> None:
    for path in ("/dev/full", str(tmp_path / "no folder" / "x")):
        monkeypatch.setenv(events.PATH, path)
        events.emit("driver", "phase", name="ready")
    monkeypatch.delenv(events.PATH)
    events.emit("driver", "phase", name="ready")


def test_a_kind_without_its_fields_is_a_mistake_of_the_kits(tmp_path) -> None:
    with pytest.raises(AssertionError, match="has the fields"):
        events.append(tmp_path / events.FILE, "driver", "alarm", step=1)


def test_every_kind_is_documented() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", (ROOT / "docs" / "watching.md").read_text(), re.MULTILINE)
    documented = {kind: re.findall(r"`(\w+)`", re.sub(r"\(.*?\)|: .*", "", fields)) for kind, fields in rows}
    assert {kind: list(fields) for kind, fields in events.KINDS.items()} == {
        kind: documented.get(kind) for kind in events.KINDS
    }

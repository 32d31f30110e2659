"""Runs whose files hold what no run writes: the report passes over it, and ends."""

import json
import math
from pathlib import Path

import pytest

from reward.support import events
from reward.support.ranks import ranks, spearman
from trainer.monitor.report import page
from trainer.monitor.report.run_record import read
from trainer.runs import checkpoints

DEEP = "[" * 100_000 + "]" * 100_000
VALUES = (
    "x",
    "",
    [],
    {"a": 1},
    10**400,
    "9" * 5000,
    True,
    None,
    math.nan,
    math.inf,
    "\x1b[2J<script>alert(1)</script>",
)
ANSWER = {"input": "p", "output": "o", "gts": "g", "score": 1.0}
AUDITED = {"input": "p", "output": "o", "proxy": 1.0, "audit": 0.5}
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
FILES = {
    **{
        f"metric {number}": ("metrics.jsonl", {"step": 1, "data": {"critic/score/mean": v, "val-core/x/acc/mean@1": v}})
        for number, v in enumerate(VALUES)
    },
    **{
        f"{key} {number}": ("rollouts/validation/1.jsonl", ANSWER | {key: v})
        for key in ANSWER
        for number, v in enumerate(VALUES)
    },
    **{
        f"{key} {number}": ("rollouts/audit/1.jsonl", AUDITED | {key: v})
        for key in AUDITED
        for number, v in enumerate(VALUES)
    },
    **{f"seconds {number}": ("summary.json", {"seconds": v, "state": v}) for number, v in enumerate(VALUES)},
    **{f"config {number}": ("config.yaml", {"trainer": v, "data": {"x": v}}) for number, v in enumerate(VALUES)},
    **{
        f"deep {name}": (name, DEEP)
        for name in ("metrics.jsonl", "summary.json", "config.yaml", "rollouts/audit/1.jsonl")
    },
    **{
        f"no number {name}": (f"rollouts/{name}/²³.jsonl", ANSWER) for name in ("validation", "audit", "audit_held_out")
    },
    **{f"folder {name}": (f"rollouts/{name}/3.jsonl/x", "") for name in ("validation", "audit", "audit_held_out")},
    "aliases": ("config.yaml", LAUGHS),
    "an alias of itself": ("config.yaml", "a: &a {b: *a}\n"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_passed_over(tmp_path, name) -> None:
    file, content = FILES[name]
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "data": {"critic/score/mean": 1.0}}\n')
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content if isinstance(content, str) else json.dumps(content) + "\n")
    page.write([tmp_path], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<script>alert" not in text and "\x1b" not in text


def test_a_good_file_beside_it_is_read(tmp_path) -> None:
    (tmp_path / "config.yaml").write_text("trainer:\n  total_epochs: 3\nactor:\n  lr: 1.0e-06\n")
    (tmp_path / "summary.json").write_text('{"seconds": 90, "state": "finished"}')
    record = read(tmp_path)
    assert record.config == {"trainer.total_epochs": 3, "actor.lr": 1e-6}
    assert record.summary == {"seconds": 90.0, "state": "finished"}


@pytest.mark.parametrize("line", [DEEP, '{"time": ' + "9" * 400 + ', "process": "d", "kind": "phase", "name": "x"}'])
def test_an_event_that_is_none_is_passed_over(tmp_path: Path, line) -> None:
    good = '{"time": 1.0, "process": "d", "kind": "phase", "name": "x"}'
    (tmp_path / "events.jsonl").write_text(f"{line}\n{good}\n")
    assert len(events.read(tmp_path / "events.jsonl")) == 1


def test_ranks_of_what_equals_nothing_come_to_an_end() -> None:
    assert sorted(ranks([math.nan, 1.0, math.nan])) == [1.0, 2.0, 3.0]
    spearman([math.nan, 1.0], [1.0, math.nan])


@pytest.mark.parametrize("name", ["global_step_²", "global_step_٣", "global_step_" + "9" * 200, "global_step_"])
def test_a_folder_that_is_no_checkpoint_is_passed_over(tmp_path, name) -> None:
    for folder in (name, "global_step_3"):
        (tmp_path / folder / "actor").mkdir(parents=True)
        (tmp_path / folder / checkpoints.MARK).write_text('{"files": {}}')
    assert checkpoints.steps(tmp_path) == [3]
    (tmp_path / "global_step_3" / checkpoints.MARK).unlink()
    (tmp_path / checkpoints.VERLS_MARK).write_text("²")
    assert checkpoints.latest(tmp_path) is None

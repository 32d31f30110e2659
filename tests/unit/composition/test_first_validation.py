"""Whether a run begins with held-out data: as an uninterrupted one would have it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trainer.composition import config_environment
from trainer.runs.folders import Run


@pytest.mark.parametrize(
    ("frequency", "again", "step", "validated", "first"),
    [
        (10, False, 0, [], True),
        (-1, False, 0, [], False),
        (10, False, 20, [], True),  # another run, from the checkpoint of one
        (-1, True, 20, [], False),
        (10, True, 0, [], True),  # stopped before its first checkpoint
        (10, True, 20, [0, 10, 20], False),
        (10, True, 20, [0, 10], True),  # killed between the checkpoint and the validation of its step
        (10, True, 15, [0, 10], False),  # there is none in an uninterrupted run
    ],
)
def test_a_run_that_goes_on_makes_no_validation_of_its_own(
    tmp_path, monkeypatch, frequency, again, step, validated, first
) -> None:
    rows = [{"step": at, "data": {"val-core/arith/acc/mean@1": 0.5}} for at in validated]
    rows.append({"step": step, "data": {"reward_mean": 0.5}})
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    plan: Any = SimpleNamespace(start=SimpleNamespace(again=again, step=step))
    run = Run("run", tmp_path, Path("checkpoints"))
    assert config_environment._validates_first(frequency, plan, run) is first

"""The page on the manual: its table of parameters, and its example; its commands are run by ``test_docs_commands``."""

import re

import pytest

from reward.entry import compute_score
from tests.support.pages import Page
from trainer import ROOT
from trainer.settings.knobs import load_knobs

PAGE = Page("docs/manual.md", (ROOT / "docs" / "manual.md").read_text(encoding="utf-8"))
ROW = re.compile(r"^\| `([A-Z_]+)` \| `--(\w+)` \| (?:`(.*)`)? \|$", re.MULTILINE)
KNOBS = {knob.env: knob for knob in load_knobs()}


def test_every_parameter_of_the_manual_has_its_name_and_its_default() -> None:
    rows = ROW.findall(PAGE.text)
    assert len(rows) == 14
    for env, flag, default in rows:
        assert (KNOBS[env].flag, KNOBS[env].default) == (flag, default)


@pytest.mark.parametrize(("response", "score"), [("15 + 27 = 42", 1.0), ("答案是 \\boxed{42}。", 1.0), ("41", 0.0)])
def test_its_example(response: str, score: float) -> None:
    assert compute_score("math_reasoning", response, "42", {})["score"] == score

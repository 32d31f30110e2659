"""The honest programs of tests/attacks score 1, and none of their tests a program that does nothing."""

import pytest

from reward.rules import RULES
from tests.attacks.tables import grade, table

HONEST = table("HONEST")


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_scores_1(name) -> None:
    code, tests, extra = HONEST[name]
    RULES["code"].check(tests, extra)
    RULES["code"].examine(tests, extra)
    assert grade(code, tests, extra)["score"] == 1.0
    nothing = grade("pass", tests, extra)
    assert (nothing["score"], nothing["unscored"]) == (0.0, 0.0)

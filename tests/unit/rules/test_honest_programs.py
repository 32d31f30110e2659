"""The honest programs of tests/attacks score 1, and none of their tests a program that does nothing."""

import pytest

from reward.rules import RULES
from tests.attacks import (
    honest_programs,
    honest_python,
    programs_of_counts,
    programs_of_data_sets,
    programs_of_gaps,
    programs_of_limits,
    programs_of_names,
    programs_of_objects,
    programs_of_own_errors,
    programs_of_styles,
)
from tests.attacks.grade import grade

HONEST = honest_programs.HONEST | honest_python.HONEST | programs_of_data_sets.HONEST | programs_of_limits.HONEST
HONEST |= programs_of_own_errors.HONEST | programs_of_styles.HONEST | programs_of_names.HONEST
HONEST |= programs_of_objects.HONEST | programs_of_gaps.HONEST | programs_of_counts.HONEST


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_scores_1(name) -> None:
    code, tests, extra = HONEST[name]
    RULES["code"].check(tests, extra)
    RULES["code"].examine(tests, extra)
    assert grade(code, tests, extra)["score"] == 1.0
    nothing = grade("pass", tests, extra)
    assert (nothing["score"], nothing["unscored"]) == (0.0, 0.0)

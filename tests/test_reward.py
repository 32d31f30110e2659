"""Scores of single responses."""

import pytest

from reward.entry import compute_score


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("122", 1.0),
        ("The sum is 122.", 1.0),
        ("37+85=122", 1.0),
        ("0122", 1.0),
        ("122 or 123", 0.0),
        ("12 2", 0.0),
        ("-122", 0.0),
        ("1" * 100_000, 0.0),
        ("٣", 0.0),
        ("", 0.0),
        ("one hundred", 0.0),
    ],
)
def test_arith_takes_the_last_number(response, score) -> None:
    assert compute_score("arith", response, "122") == {"score": score, "acc": score}


def test_an_unknown_data_source_is_never_a_score_of_0() -> None:
    with pytest.raises(KeyError, match="no rule scores data_source 'maths'; there are rules for arith"):
        compute_score("maths", "122", "122")


def test_a_broken_ground_truth_is_never_a_score_of_0() -> None:
    with pytest.raises(ValueError, match="abc"):
        compute_score("arith", "122", "abc")

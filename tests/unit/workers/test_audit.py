"""What an audit finds in a step."""

import math

import pytest

from reward.support.ranks import ranks, spearman
from trainer.workers.audit.measures import AnswerMeasures, AuditBaseline, components_of, measure


def test_ranks_and_their_correlation_with_ties() -> None:
    """By hand: ranks 4, 1.5, 1.5, 3, 5 and 2, 4.5, 4.5, 2, 2; Pearson's correlation of those."""
    left, right = [3.0, 1.0, 1.0, 2.0, 5.0], [0.0, 1.0, 1.0, 0.0, 0.0]
    assert ranks(left) == [4.0, 1.5, 1.5, 3.0, 5.0]
    assert spearman(left, right) == pytest.approx(-7.5 / math.sqrt(9.5 * 7.5))
    assert spearman(left, [1.0] * 5) is None


def test_an_answer_without_a_verdict_counts_for_nothing_but_its_share() -> None:
    answers = [AnswerMeasures(1.0, 10.0, 0.0), AnswerMeasures(0.0, 20.0, 0.5), AnswerMeasures(9.0, 99.0, 0.9)]
    found = measure(answers, [1.0, 0.0, None], AuditBaseline())
    assert found["audit/unscored_share"] == pytest.approx(1 / 3)
    assert (found["audit/samples"], found["audit/mean"], found["audit/proxy"]) == (2.0, 0.5, 0.5)
    assert (found["audit/length"], found["audit/repetition"], found["audit/rank_correlation"]) == (15.0, 0.25, 1.0)
    assert measure(answers, [None] * 3, AuditBaseline()) == {"audit/samples": 0.0, "audit/unscored_share": 1.0}


def test_drift_is_from_the_first_audit_and_outlives_a_restart() -> None:
    before = [AnswerMeasures(0.0, 10.0, 0.0, {"style": 1.0}), AnswerMeasures(0.0, 14.0, 0.0, {"style": 1.0})]
    after = [AnswerMeasures(0.0, 20.0, 0.1, {"style": 3.0}), AnswerMeasures(0.0, 24.0, 0.1, {"style": 3.0})]
    reference, resumed = AuditBaseline(), AuditBaseline()
    first = measure(before, [1.0, 0.0], reference)
    assert [first[f"audit/drift/{name}"] for name in ("length", "repetition", "style")] == [0.0, 0.0, 0.0]
    resumed.load_state_dict(reference.state_dict())
    found = measure(after, [1.0, 0.0], resumed)
    assert found["audit/drift/length"] == 5.0  # from 12 to 22, of which 2 is the standard deviation
    assert found["audit/drift/style"] == 2.0  # all were alike: in its own unit


def test_components_are_the_parts_of_the_reward_before_any_scale() -> None:
    info = {"score": 1.0, "acc": 1.0, "unscored": 0.0, "timeout": 0.0, "rm_score": -2.5, "rm_score_scaled": 0.1}
    info |= {"rm_score_weight": 0.5, "episode/turns": 3.0, "length_penalty": float("nan"), "note": None}
    assert components_of(info) == {"rm_score": -2.5}

"""``--audit_fn`` on rows: each kind of audit, and what it says where it gives no score."""

import time

import pytest

from reward.audit import Auditor, AuditSpec, AuditVerdict
from tests.support.judge_server import JudgeServer, judge_of_sums
from tests.support.judging import config

ROW = {"data_source": "arith", "response": "it is 42", "ground_truth": "42", "extra_info": {}, "prompt": "40 + 2 = ?"}
FUNCTION = """
import time

def score(data_source, solution_str, ground_truth, extra_info=None):
    if solution_str == "hangs":
        time.sleep(30)
    if solution_str == "breaks":
        raise KeyError("no such answer")
    return {"score": float(len(solution_str)), "note": 1.0}
"""


def test_the_rule_of_a_row_and_one_that_is_named() -> None:
    assert Auditor(AuditSpec("rule")).score([ROW]) == [AuditVerdict(1.0)]
    rows = [{**ROW, "response": response} for response in ("I make it 42 or so", "42")]
    assert Auditor(AuditSpec("rule", "text")).score(rows) == [AuditVerdict(0.0), AuditVerdict(1.0)]


def test_an_answer_that_a_rule_cannot_score_says_why_and_is_not_0() -> None:
    (verdict,) = Auditor(AuditSpec("rule")).score([{**ROW, "data_source": "riddles"}])
    assert verdict.score is None
    assert "no rule scores data_source 'riddles'" in verdict.why


def test_a_function_that_breaks_or_hangs_leaves_its_answer_unscored_and_no_other(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    spec = AuditSpec("function", f"{tmp_path / 'mine.py'}:score", seconds=2.0)
    started = time.monotonic()
    found = Auditor(spec).score([{**ROW, "response": said} for said in ("abc", "breaks", "hangs", "abcd")])
    assert [verdict.score for verdict in found] == [3.0, None, None, 4.0]
    assert "KeyError" in found[1].why
    assert found[2].why == "the audit gave no score in 2 s an answer (--reward_timeout)"
    assert time.monotonic() - started < 60


def test_a_judge_of_its_own(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-audit-0123456789")
    with JudgeServer(judge_of_sums) as server:
        auditor = Auditor(AuditSpec("judge", config(server).to_json()))
        right, wrong = auditor.score([ROW, {**ROW, "response": "it is 41"}])
    assert right.score is not None and wrong.score is not None and right.score > wrong.score


def test_what_is_sent_to_the_workers_has_nothing_that_omegaconf_acts_on() -> None:
    spec = AuditSpec("function", "/tmp/${x}.py:score", 3.0)
    assert "$" not in spec.dumps()
    assert AuditSpec.loads(spec.dumps()) == spec
    assert spec.limit(1) == 3.0 < spec.limit(1000)


@pytest.mark.parametrize("kind", ["rule", "function"])
def test_no_answers_have_no_verdicts(kind, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    spec = f"{tmp_path / 'mine.py'}:score" if kind == "function" else ""
    assert Auditor(AuditSpec(kind, spec)).score([]) == []

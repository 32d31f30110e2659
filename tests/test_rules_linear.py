"""Responses that are all brackets, blanks or tags: a rule that reads them in the square of their length hangs."""

import json
import signal
from collections.abc import Iterator

import pytest

from reward.components import Sample, rule_score
from reward.rules import answer, code

MARKER = json.dumps([{"id": "detectable_content:postscript", "postscript_marker": "P.S."}])
LONG = 65_000
SECONDS = 60  # those that were squares took minutes


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Fail where a rule does not come back; its regular expressions let signals through."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("source", "truth", "response"),
    [
        ("json_schema", "{}", "```" + "\n" * LONG),
        ("instructions", MARKER, "\n" * LONG),
        ("math", "5", "\\(" * LONG),
        ("math", "5", "\\[" * LONG),
        ("math", "5", "$" * LONG),
        ("text", "five", "<answer>" * LONG),
        ("text", "five", ("answer" + " " * 50) * 900),
        ("choice", "A", "(" * LONG),
        ("format", "", "<think>" + " " * LONG + "</think>" + " " * LONG + "<answer></answer>x"),
    ],
)
def test_a_long_hostile_response_is_wrong_at_once(source, truth, response) -> None:
    assert rule_score(Sample(source, response, truth, {}))["score"] == 0.0


def test_code_out_of_a_long_response() -> None:
    text = "```" + " " * LONG
    assert code.extract(text) == text
    assert code.extract("```python \nx = 1\n```") == "x = 1\n"
    assert code.extract("``` py\r\nx = 1\n```") == "x = 1\n"


def test_the_last_tag() -> None:
    assert answer.tagged("<answer>a <answer>b</answer> c") == "a <answer>b"
    assert answer.tagged("<answer>a</answer><ANSWER> b </Answer><answer>c") == "b"
    assert answer.tagged("</answer>a<answer>") is None

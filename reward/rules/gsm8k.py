"""GSM8K: the number after the last ``####``, else in a box, else in the last 'answer is', else the last number.

Source: Cobbe et al. 2021, https://github.com/openai/grade-school-math (the ``#### 72`` of its answers).
"""

import re
from typing import Any

from reward.rules import number
from reward.rules.parsing import answer, main_number, number_words
from reward.rules.parsing.answer import hashed
from reward.rules.parsing.phrases import rewording
from reward.rules.rule import Extra, Rule

DIGIT = re.compile(r"\d")
# A second answer right after the first.
ANOTHER = re.compile(
    r"(?:,|/|&|[-+*\u2013] ?(?=\d)|(?=\d[\d.,]*(?:\s|\Z))|\b(?:or|and|to)\b|[(\[](?:or\b|或)|或"
    r"|和)[^\w]*\d"
)

# 'The answer is 48 in April and 24 in May.'
ONE_OF_SEVERAL = re.compile(r"[^()=\n\d]{0,64}\band\b[^()=\n]{0,64}\d")

ON_THE_HOUR = re.compile(r"(?<![\d:])(\d{1,2}):00(?= ?[ap]\.?m)", re.IGNORECASE)  # of the set's answers, '7' is 7:00 pm


def expected_number(ground_truth: Any) -> str:
    """Return the number of a ground truth: a number, or the set's own worked answer with ``####`` in it.

    Raises:
        GroundTruthError: it is neither.
    """
    return number.read(hashed(str(ground_truth)) or ground_truth)


def check(ground_truth: Any, extra: Extra) -> None:
    """Refuse a ground truth that is no number."""
    expected_number(ground_truth)


def score(response: str, ground_truth: Any, extra: Extra) -> float:
    """Return 1.0 if the answer of ``response`` equals ``ground_truth``, else 0.0.

    Raises:
        GroundTruthError: the ground truth is no number.
    """
    truth = expected_number(ground_truth)
    end = rewording.reworded(ON_THE_HOUR.sub(r"\1", answer.tail(response[-number.LONGEST :])))
    marked = hashed(end) or answer.boxed(end) or answer.tagged(end)
    stated = answer.stated(end) if marked is None else marked
    texts = {number_words.in_digits(text) for text in (stated, number_words.unscaled(stated))} if stated else set()
    if any(map(DIGIT.search, texts)):
        readings = [given for text in texts for given in _marked(text)]
    else:
        readings = [*number.readings(number.emphasised(end) or main_number.main_part(end))]
    return float(any(number.same(given, truth) for given in readings))


def _marked(text: str) -> tuple[str, ...]:
    """Read a marked line: what it begins with ('18 dollars for 2 eggs'), else its last number ('x = 18')."""
    if rewording.are_results(text):
        return ()
    opening = number.opening(text.rpartition("=")[2])
    if opening is None:
        return number.readings(text)
    first, rest = opening
    return (
        ()
        if first is None or ANOTHER.match(rest.lstrip()) or ONE_OF_SEVERAL.match(rest)
        else number.scaled(first, rest)
    )


def example(ground_truth: Any, extra: Extra) -> str:
    """Return a right answer."""
    return f"#### {expected_number(ground_truth)}"


RULE = Rule("gsm8k", score, check, example)

r"""Mathematical answers: numbers exactly, everything else through math-verify.

Source: https://github.com/huggingface/Math-Verify for the comparison of LaTeX (fractions, units, intervals, sets,
equations); the way to the answer is the kit's own. The final answer is the last ``\boxed{}``, else what an
``<answer>`` tag, the last ``####`` or the last 'answer is' says, else the last formula or number. It is one answer:
text around it is not searched for something that fits. Two plain numbers are compared here, without sympy.
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from reward.errors import GroundTruthError
from reward.rules import answer, killable, number
from reward.rules.rule import Extra, Rule

LONGEST_ANSWER = 512  # characters, or four times the truth; a longer answer is wrong
LONGEST_NUMBER = 64
PLAIN = re.compile(r"([-+]?)(?:(\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(\.\d+)?)")
RATIO = re.compile(r"([-+]?)(?:\\frac\{([-+]?\d+)\}\{(\d+)\}|\\frac(\d)(\d)|(\d+)/(\d+))")
MIXED = re.compile(r"([-+]?)(\d+)(?:\\frac\{(\d+)\}\{(\d+)\})")
# Between its brackets no other begins: else a response of brackets alone would take the square of its length.
FORMULA = re.compile(r"\$\$?([^$]+)\$\$?|\\\(((?:(?!\\[()]).)+)\\\)|\\\[((?:(?!\\[\[\]]).)+)\\\]", re.DOTALL)
UNITS = re.compile(
    r"(?:\\text|\\mathrm|\\mbox|\\textbf)\{([^{}]*)\}|\\(?:!|,|;|:|quad|qquad|left|right|displaystyle)(?![A-Za-z])"
)
WORDS = re.compile(
    r"(?<=[\d}])\s*(?:degrees?|dollars?|cents?|units?|square|cubic|cm|mm|km|m|kg|g|in(?:ch(?:es)?)?|feet|ft|"
    r"meters?|miles?|hours?|minutes?|seconds?|days?|weeks?|months?|years?|people|points?|ways)(?:\^\{?[23]\}?)?$"
)
FUNCTION = re.compile(r"(?<![\\A-Za-z])(sqrt)\(([^()]*)\)")


def final(response: str) -> str | None:
    """Return the one final answer of a response; None where there is none."""
    end = answer.tail(response)
    for place in (answer.boxed, answer.tagged, answer.hashed, answer.said):
        found = place(end)
        if found is not None:
            return (answer.boxed(found) or found) if found else None
    formulas = FORMULA.findall(end)
    if formulas:
        return next(filter(None, formulas[-1]), "").strip()
    return number.last(end)


def clean(latex: str) -> str:
    """Return an answer without what means nothing: dollars, blanks, units, sizes of brackets."""
    text = (
        latex.strip().strip("$").strip().rstrip(".").strip().replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    )
    text = text.replace("\\$", "").replace("$", "").replace("\\%", "%").replace("^{\\circ}", "").replace("^\\circ", "")
    text = UNITS.sub(lambda unit: f" {(unit[1] or '').strip()}", text)
    return FUNCTION.sub(r"\\sqrt{\2}", WORDS.sub("", " ".join(text.split())))


def value(text: str) -> tuple[Fraction, int | None] | None:
    """Return a plain number and its decimal places (None for a fraction); None where ``text`` is something else."""
    short = text.replace(" ", "")
    if not short or len(short) > LONGEST_NUMBER:
        return None
    if (found := PLAIN.fullmatch(short)) and (found[2] or found[3]):
        digits = (found[2] or "0").replace(",", "") + (found[3] or "")
        return Fraction(Decimal(found[1] + digits)), len(found[3] or ".") - 1
    if found := MIXED.fullmatch(short):
        sign, whole, top, bottom = found[1], *map(int, found.groups()[1:])
        return (Fraction(f"{sign}1") * (whole + Fraction(top, bottom)), None) if bottom else None
    if " " not in text.strip() and (found := RATIO.fullmatch(short)):
        top, bottom = (int(n) for n in found.groups()[1:] if n is not None)
        return (Fraction(f"{found[1]}1") * Fraction(top, bottom), None) if bottom else None
    return None


def equal_numbers(one: tuple[Fraction, int | None], other: tuple[Fraction, int | None]) -> bool:
    """Return whether two numbers are equal: exactly, or a fraction to the places (six or more) of a decimal."""
    if one[0] == other[0]:
        return True
    places = [p for p in (one[1], other[1]) if p is not None]
    return len(places) == 1 and places[0] >= 6 and abs(one[0] - other[0]) < Fraction(1, 10 ** places[0])


def compare(truth: str, found: str) -> bool:
    """Return whether two cleaned answers are equal.

    Raises:
        GraderFailed, GraderTimeout: math-verify gave no verdict.
    """
    if truth.replace(" ", "") == found.replace(" ", ""):
        return True
    percent = truth.endswith("%"), found.endswith("%")
    one, other = value(truth.rstrip("% ")), value(found.rstrip("% "))
    if one and other:
        if equal_numbers(one, other):
            return True  # 50 and 50 % too: sets write the one where they mean the other
        if percent[0] != percent[1]:
            hundred = (one[0] / 100, 10) if percent[0] else (one[0] * 100, 10)
            return hundred[0] == other[0]
        return False
    if len(found) > max(LONGEST_ANSWER, 4 * len(truth)):
        return False
    return _verify(truth, found)


@lru_cache(maxsize=65_536)
def _verify(truth: str, found: str) -> bool:
    """A verdict is remembered: the samples of a prompt, and epochs, repeat themselves. An error is not."""
    return bool(killable.ask("math", truth=truth, answer=found))


def wanted(ground_truth: Any) -> str:
    """Return the ground truth cleaned; a worked solution stands for its last box.

    Raises:
        GroundTruthError: it is empty.
    """
    text = str(ground_truth).strip() if ground_truth is not None else ""
    truth = clean(answer.boxed(text) or answer.hashed(text) or text)
    if not truth:
        raise GroundTruthError("ground_truth is empty; a number or a LaTeX expression is wanted")
    return truth


def check(ground_truth: Any, extra: Extra) -> None:
    """Refuse an empty ground truth."""
    wanted(ground_truth)


def score(response: str, ground_truth: Any, extra: Extra) -> float:
    """Return 1.0 if the final answer equals the ground truth, else 0.0.

    Raises:
        GroundTruthError: the ground truth is empty.
        GraderFailed, GraderTimeout: math-verify gave no verdict.
    """
    truth, found = wanted(ground_truth), final(response)
    found = clean(found) if found and len(found) <= answer.LONGEST else None
    return float(bool(found) and compare(truth, found or ""))


def example(ground_truth: Any, extra: Extra) -> str:
    """Return a right answer."""
    return f"The answer is \\boxed{{{wanted(ground_truth)}}}"


RULE = Rule("math", score, check, example)

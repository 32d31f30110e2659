"""Answers of MATH rewritten: so that they stay equal, and so that they become wrong."""

import random
import re
from collections.abc import Callable, Iterator

FRACTION = re.compile(r"(-?)\\frac\{(\d+)\}\{(\d+)\}")
Rewrite = Callable[[str], str]

EQUAL: dict[str, Rewrite] = {
    "\\dfrac": lambda text: text.replace("\\frac", "\\dfrac"),
    "\\tfrac": lambda text: text.replace("\\frac", "\\tfrac"),
    "a full stop": lambda text: f"{text}.",
    "dollars around it": lambda text: f"${text}$",
    "\\displaystyle": lambda text: f"\\displaystyle {text}",
    "x =": lambda text: f"x = {text}" if re.fullmatch(r"-?\d+", text) else text,
    "thousands": lambda text: f"{int(text):,}" if re.fullmatch(r"\d{4,}", text) else text,
    "thousands in LaTeX": lambda text: f"{int(text):,}".replace(",", ",\\!") if re.fullmatch(r"\d{4,}", text) else text,
    "a decimal point": lambda text: f"{text}.0" if re.fullmatch(r"-?\d+", text) else text,
    "a slash": lambda text: FRACTION.sub(r"\1\2/\3", text) if FRACTION.fullmatch(text) else text,
    "a fraction not reduced": lambda text: (
        FRACTION.sub(lambda match: f"{match[1]}\\frac{{{2 * int(match[2])}}}{{{2 * int(match[3])}}}", text)
        if FRACTION.fullmatch(text)
        else text
    ),
    "units": lambda text: f"{text}\\text{{ units}}" if re.fullmatch(r"-?\d+", text) else text,
    "degrees": lambda text: f"{text}^\\circ" if re.fullmatch(r"-?\d+", text) else text,
    "a minus of Unicode": lambda text: text if "\\text" in text else text.replace("-", "\u2212"),
    "short roots": lambda text: re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1", text),
    "bmatrix": lambda text: text.replace("pmatrix", "bmatrix"),
}


def _digit(text: str) -> str:
    """Another last digit."""
    return re.sub(r"\d(?=\D*$)", lambda match: str((int(match[0]) + 3) % 10), text)


WRONG: dict[str, Callable[[str, str], str]] = {
    "another digit": lambda text, _: text if "!" in text else _digit(text),
    "another sign": lambda text, _: f"-{text}" if re.fullmatch(r"[1-9]\d*", text) else text,
    "two answers, or": lambda text, other: f"{text} or {other}",
    "two answers, comma": lambda text, other: f"{text}, {other}" if "," not in text else text,
    "two answers, the right one last": lambda text, other: f"{other}, {text}" if "," not in text else text,
    "not equal": lambda text, _: f"\\neq {text}",
    "a bound": lambda text, _: f"x \\le {text}" if re.fullmatch(r"-?\d+", text) else text,
    "plus or minus": lambda text, _: f"\\pm {text}" if re.fullmatch(r"[1-9]\d*", text) else text,
    "the other way up": lambda text, _: FRACTION.sub(r"\1\\frac{\3}{\2}", text) if FRACTION.fullmatch(text) else text,
    "a square": lambda text, _: f"{text}^2" if re.fullmatch(r"[2-9]\d*|[a-z]", text) else text,
    "a range": lambda text, _: f"{text}-{int(text) + 1}" if re.fullmatch(r"[1-9]\d*", text) else text,
    "nothing": lambda *_: "",
}


def rewritten(truths: list[str]) -> Iterator[tuple[str, str, float]]:
    """Yield truth, answer and whether they are equal, for every different truth and every rewriting that changes it."""
    draw, different = random.Random(0), list(dict.fromkeys(truths))
    for truth in different:
        for equal in EQUAL.values():
            if (text := equal(truth)) != truth:
                yield truth, text, 1.0
        other = draw.choice(different)
        for wrong in WRONG.values():
            if (text := wrong(truth, other)) != truth and other != truth:
                yield truth, text, 0.0

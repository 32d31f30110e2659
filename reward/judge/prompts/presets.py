"""The ready prompts: ``presets/NAME.LANGUAGE.txt``, which people may edit, and the rules that go with every prompt.

A file is a head of ``name: value`` lines, then sections that begin with ``--- name``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reward.judge.verdict import ScoreScale
from reward.support.wording import quoted

FOLDER = Path(__file__).parents[1] / "presets"
NAMES = ("general", "math", "code", "dialogue", "safety")
LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class JudgePreset:
    """What a judge is told about its field."""

    system: str
    scoring: str  # with {prompt}, {response}, {ground_truth}
    scale: ScoreScale


@dataclass(frozen=True)
class Rules:
    """What every judge is told: how the material is marked, how to answer, and how to answer if it did not."""

    system: str
    opening: str
    closing: str
    again: str
    none: str  # stands for a missing ground truth


def sections(text: str) -> Mapping[str, str]:
    """Return head values and sections of a prompt file by name."""
    texts: dict[str, str] = {}
    head, *parts = ("\n" + text).split("\n--- ")
    for line in filter(None, map(str.strip, head.splitlines())):
        name, _, value = line.partition(":")
        texts[name] = value.strip()
    for part in parts:
        name, _, body = part.partition("\n")
        texts[name.strip()] = body.strip()
    return texts


def scale_of(text: str) -> ScoreScale:
    """Read a scale such as ``1-10`` or ``0-1``.

    Raises:
        ValueError: it is no scale, or its worst score is not below its best.
    """
    low, _, high = text.strip().rpartition("-")
    try:
        if not text.isascii() or "_" in text:
            raise ValueError(text)
        scale = ScoreScale(float(low), float(high))
    except ValueError:
        raise ValueError(f"{quoted(text)} is no scale; WORST-BEST is wanted, such as 1-10") from None
    if not float("-inf") < scale.low < scale.high < float("inf"):
        raise ValueError(f"{quoted(text)} is no scale: the worst score must be below the best, such as 1-10")
    return scale


@cache
def preset(name: str, language: str) -> JudgePreset:
    """Return a preset of ``NAMES`` in a language of ``LANGUAGES``."""
    texts = sections((FOLDER / f"{name}.{language}.txt").read_text(encoding="utf-8"))
    return JudgePreset(texts["system"], texts["scoring"], scale_of(texts["scale"]))


@cache
def rules(language: str) -> Rules:
    """Return the rules in a language of ``LANGUAGES``."""
    texts = sections((FOLDER / f"rules.{language}.txt").read_text(encoding="utf-8"))
    return Rules(*(texts[name] for name in ("system", "opening", "closing", "again", "none")))

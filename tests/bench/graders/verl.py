"""verl's own scorers of mathematics, out of the environment: what they say of cases that the kit's rules are asked."""

import contextlib
import io
from collections.abc import Callable, Iterable
from typing import Any

from tests.bench.graders.tally import Case


def _verdicts(score: Callable[[str, str], Any], asked: Iterable[tuple[str, str]]) -> list[float]:
    """The verdicts; a scorer that breaks says 0. Their time limits are signals, so this is for the main thread."""
    scores = []
    for response, truth in asked:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                scores.append(float(score(response, truth)))
            except Exception:
                scores.append(0.0)
    return scores


def math(rewritten: list[tuple[str, str, float]]) -> dict[str, list[Case]]:
    """Return the cases of three scorers: truth and answer as ``math_variants`` has them."""
    from verl.utils.reward_score import math_dapo, math_reward, prime_math

    boxed = [(f"So the answer is $\\boxed{{{text}}}$.", truth) for truth, text, _ in rewritten]
    stated = [(f"So it is.\nAnswer: {text}", truth) for truth, text, _ in rewritten]
    scorers: dict[str, tuple[Callable[[str, str], Any], list[tuple[str, str]]]] = {
        "math_reward": (math_reward.compute_score, boxed),
        "math_dapo": (lambda response, truth: math_dapo.compute_score(response, truth)["acc"], stated),
        "prime_math": (lambda response, truth: prime_math.compute_score(response, truth)[0], boxed),
    }
    return {
        name: [
            ("math", response, truth, verdict)
            for (response, truth), verdict in zip(asked, _verdicts(score, asked), strict=True)
        ]
        for name, (score, asked) in scorers.items()
    }


def gsm8k(rows: list[tuple[str, str]]) -> dict[str, list[Case]]:
    """Return the cases of verl's two readings of GSM8K: response and truth."""
    from verl.utils.reward_score import gsm8k as scorer

    return {
        method: [
            ("gsm8k", response, truth, float(scorer.compute_score(response, truth, method))) for response, truth in rows
        ]
        for method in ("strict", "flexible")
    }

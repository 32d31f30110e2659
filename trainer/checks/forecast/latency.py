"""How long a step will wait for a judge or an environment, by what the checks before the launch measured."""

import math

from reward.judge.config import JudgeConfig
from trainer.composition import environment_spec
from trainer.composition.run_plan import Latency
from trainer.settings.settings import Settings

LONG = 1.0  # seconds of a step that are worth a word


def of_step(settings: Settings, judge: JudgeConfig | None, latency: Latency) -> tuple[float, str] | None:
    """Return the seconds of a step that its answers wait, and in words for what; None where nothing was measured.

    A judge's time follows from its limits of requests at a time and a minute. Episodes go on side by side, so that of
    an environment is its turns', one after the other.
    """
    waits: list[tuple[float, str]] = []
    answers = settings.integer("BATCH_SIZE") * settings.integer("ROLLOUT_N")
    if judge and latency.judge is not None:
        at_a_time = min(judge.concurrency, answers)
        seconds, limit = latency.judge * math.ceil(answers / at_a_time), f"{at_a_time} at a time"
        if judge.requests_per_minute and (least := 60 * answers / judge.requests_per_minute) > seconds:
            seconds, limit = least, f"{judge.requests_per_minute:g} a minute"
        text = f"{_seconds(seconds)} of a step ({answers:,} answers, {_seconds(latency.judge)} each, {limit})"
        waits.append((seconds, f"the judge takes about {text}"))
    if latency.turn is not None:
        from environments.spec import EnvSpec  # brings Gymnasium, which other runs do without

        turns = EnvSpec.from_json(environment_spec.to_json(settings)).max_turns
        seconds = latency.turn * turns
        text = f"{_seconds(seconds)} of a step ({turns} turns at most, {_seconds(latency.turn)} each)"
        waits.append((seconds, f"the environment takes up to {text}"))
    return max(waits, default=None)


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s" if value >= 0.1 else f"{value * 1000:.0f} ms"

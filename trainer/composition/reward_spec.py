"""The reward of a run as verl and its workers are told of it."""

import json
from typing import Any

from reward.support.wording import expanded
from trainer.settings.settings import Settings


def is_overridden(settings: Settings) -> bool:
    """Whether the person brings a reward function of verl's, by raw overrides."""
    return any(word.lstrip("+~").startswith("reward.") for word in settings.overrides)


def reward_fn(settings: Settings) -> str:
    """Return ``--reward_fn`` with its file's path made absolute."""
    spec = settings.text("REWARD_FN")
    place, colon, name = spec.rpartition(":") if ":" in spec else (spec, "", "")
    return f"{expanded(place).absolute()}{colon}{name}" if place.endswith(".py") else spec


def composite(settings: Settings, judge: str = "", model: str = "") -> dict[str, Any]:
    """Return the section ``composite_reward`` with what its components need to know of the run.

    The length penalty's limit is that of responses, unless one is given. ``judge`` and ``model`` are the judge and the
    reward model, as JSON.
    """
    section = dict(settings.reward.section)
    if "length_penalty" in json.dumps(section):
        options = dict(section.get("options") or {})
        limit = {"limit": settings.integer("MAX_RESPONSE_LENGTH")}
        section["options"] = {**options, "length_penalty": limit | dict(options.get("length_penalty") or {})}
    if judge:
        section["options"] = {**(section.get("options") or {}), "judge_score": {"config": judge}}
    if model:
        section["options"] = {**(section.get("options") or {}), "rm_score": {"model": model}}
    return section

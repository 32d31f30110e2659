"""The reward of a run as verl and its workers are told of it."""

import dataclasses
import json
from typing import Any

from reward.audit import AuditSpec
from reward.judge.config import JudgeConfig
from reward.support.wording import expand_home
from trainer.settings.settings import Settings


def is_overridden(settings: Settings) -> bool:
    """Whether the person brings a reward function of verl's, by raw overrides."""
    return any(word.lstrip("+~").startswith("reward.") for word in settings.overrides)


def reward_fn(settings: Settings) -> str:
    """Return ``--reward_fn`` with its file's path made absolute."""
    return with_whole_path(settings.text("REWARD_FN"))


def with_whole_path(spec: str) -> str:
    """Return the name of a function, path.py[:name] or module:name, with its file's path made absolute."""
    place, colon, name = spec.rpartition(":") if ":" in spec else (spec, "", "")
    return f"{expand_home(place).absolute()}{colon}{name}" if place.endswith(".py") else spec


def audit(spec: AuditSpec | None, run: str, resumed: str) -> str:
    """Return the audit as JSON, empty where there is none; what a judge spends counts for the run."""
    if spec is None:
        return ""
    if spec.kind == "judge":
        judge = dataclasses.replace(
            JudgeConfig.from_json(spec.spec), run=f"{run}/audit", resumed=resumed and f"{resumed}/audit"
        )
        spec = dataclasses.replace(spec, spec=judge.to_json())
    return spec.dumps()


def composite(settings: Settings, judge: str = "", model: str = "") -> dict[str, Any]:
    """Return the section ``composite_reward`` with what its components need to know of the run.

    The length penalty's limit is that of responses, unless one is given. ``judge`` and ``model`` are the judge and the
    reward model, as JSON. A function of the user's is its ``rule_score``.
    """
    section = dict(settings.reward.section)
    if settings.reward.by_function:
        section["options"] = {**(section.get("options") or {}), "rule_score": {"function": reward_fn(settings)}}
    if "length_penalty" in json.dumps(section):
        options = dict(section.get("options") or {})
        limit = {"limit": settings.integer("MAX_RESPONSE_LENGTH")}
        section["options"] = {**options, "length_penalty": limit | dict(options.get("length_penalty") or {})}
    if judge:
        section["options"] = {**(section.get("options") or {}), "judge_score": {"config": judge}}
    if model:
        section["options"] = {**(section.get("options") or {}), "rm_score": {"model": model}}
    return section

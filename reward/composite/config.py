"""The section ``composite_reward`` of ``config/reward_model_config.yaml``, typed.

composite_reward:
  enable: true
  weights: {rm_score: 0.7, rule_score: 0.3}
  scale: {rm_score: sigmoid, judge_score: {kind: zscore}}     # none is the default
  gates: {judge_score: {component: format_score, at_least: 1}}
  options: {length_penalty: {limit: 512}}
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from reward.support.schema import STRICT, Check, Message, Number, OneOf, Strict, Via, empty, parse

ENV = "env_score"  # the environment's own return: its rewards stand on the turns that earned them
NAMES = ("rule_score", "format_score", "length_penalty", "repetition_penalty", "judge_score", "rm_score", ENV)
KINDS = ("none", "clip", "sigmoid", "zscore")
UNITS = ("tokens", "characters")
THERE_ARE = "there are {choices}"

Component = Annotated[str, OneOf(NAMES, f": there is no such component; {THERE_ARE}")]
Switch = Annotated[bool, Strict(), Message(" is {value}; allowed: true, false")]
Weight = Annotated[float, Number(0, " is {value}; allowed: {number} 0 or more")]
Count = Annotated[int, Number(1, " is {value}; allowed: {number} 1 or more")]
Finite = Annotated[float, Number(-math.inf, " is {value}; allowed: {number}")]


def _number(raw: Any) -> Any:
    """Read a number that is written as a text, as gates always did."""
    try:
        return float(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


Threshold = Annotated[Finite, Via(_number)]


@dataclass(frozen=True)
class ComponentScale:
    """How a component is brought to a common scale.

    ``clip``: into [low, high]. ``sigmoid``: 1 / (1 + exp(-(x - center) / width)). ``zscore``: (x - mean) / standard
    deviation, within 5, of what ``reward/zscore.py`` has seen: one sample alone cannot tell.
    """

    __pydantic_config__ = STRICT
    kind: Annotated[str, OneOf(KINDS, ": {value}: one of {choices}")] = "none"
    low: Finite = 0.0
    high: Finite = 1.0
    center: Finite = 0.0
    width: Finite = 1.0


@dataclass(frozen=True)
class ComponentGate:
    """A component is asked only where the raw value of ``component`` is ``at_least`` this; else it is ``otherwise``."""

    __pydantic_config__ = STRICT
    component: Annotated[str, OneOf(NAMES, f": there is no {{value}}; {THERE_ARE}")]
    at_least: Threshold = 1.0
    otherwise: Threshold = 0.0


def _larger_buffer(buffer: int, before: Mapping[str, Any]) -> str:
    limit = before.get("limit")
    return f"{buffer} is larger than limit {limit}" if limit and buffer > limit else ""


@dataclass(frozen=True)
class LengthPenalty:
    """The soft overlong penalty; a ``limit`` of 0 is that of responses, a ``buffer`` of 0 a quarter of it."""

    __pydantic_config__ = STRICT
    limit: Count = 0
    buffer: Annotated[Count, Check(_larger_buffer)] = 0
    unit: Annotated[str, OneOf(UNITS, " is {value}; allowed: {choices}")] = "tokens"


@dataclass(frozen=True)
class RepetitionPenalty:
    """The repetition penalty over n-grams of ``n`` words."""

    __pydantic_config__ = STRICT
    n: Count = 20


@dataclass(frozen=True)
class ComponentOptions:
    """What a person may choose of the components; the trainer adds the judge and the reward model."""

    __pydantic_config__ = STRICT
    length_penalty: LengthPenalty = LengthPenalty()
    repetition_penalty: RepetitionPenalty = RepetitionPenalty()


def _scale(raw: Any) -> Any:
    """Read a scale that is its kind alone."""
    if isinstance(raw, str) and raw not in KINDS:
        raise ValueError(f"{raw!r}: one of {', '.join(KINDS)}")
    return ComponentScale(raw) if isinstance(raw, str) else {} if raw is None else raw


def _scales_turns(scales: Mapping[str, ComponentScale], _: Mapping[str, Any]) -> str:
    turned = ENV in scales and scales[ENV].kind != "none"
    return f"{ENV}: its rewards stand on turns, and only a sum could be scaled; leave it out" if turned else ""


def _wrong_range(scale: ComponentScale, _: Mapping[str, Any]) -> str:
    return "" if scale.low < scale.high and scale.width > 0 else "low < high and width > 0 are wanted"


def _loops(gates: Mapping[str, ComponentGate], _: Mapping[str, Any]) -> str:
    if ENV in gates:
        return f"{ENV}: its rewards stand on turns, which have come before any gate; leave it out"
    looped = [name for name in gates if _waits_for_itself(name, gates)]
    waiting = "they depend on one another" if len(looped) > 1 else "it waits for itself"
    return f"{' and '.join(looped)}: {waiting}" if looped else ""


def _waits_for_itself(name: str, gates: Mapping[str, ComponentGate]) -> bool:
    at = gates[name].component
    for _ in gates:
        if at == name:
            return True
        if at not in gates:
            return False
        at = gates[at].component
    return False


@dataclass(frozen=True)
class OffSection:
    """The section where it is switched off, when the rest of it may be anything."""

    __pydantic_config__ = STRICT
    enable: Switch = False
    weights: Any = None
    scale: Any = None
    gates: Any = None
    options: Any = None


@dataclass(frozen=True)
class Section(OffSection):
    """The section where it is switched on."""

    weights: Annotated[Mapping[Component, Weight], empty(dict)] = field(default_factory=dict)
    scale: Annotated[
        Mapping[Component, Annotated[ComponentScale, Via(_scale), Check(_wrong_range)]],
        Check(_scales_turns),
        empty(dict),
    ] = field(default_factory=dict)
    gates: Annotated[Mapping[Component, Annotated[ComponentGate, empty(dict)]], Check(_loops), empty(dict)] = field(
        default_factory=dict
    )
    options: Annotated[ComponentOptions, empty(dict)] = ComponentOptions()


@dataclass(frozen=True)
class File:
    """All that the file has."""

    __pydantic_config__ = STRICT
    composite_reward: Any = None


def _is_off(content: Mapping[str, Any]) -> bool:
    """Whether a file, as it was read, has a composite reward that is plainly off: then nothing in it counts."""
    section = content.get("composite_reward") or {}
    if content.keys() - {"composite_reward"} or not isinstance(section, Mapping):
        return False
    return not section or (section.get("enable") is False and section.keys() <= {item.name for item in fields(Section)})


def check(content: Mapping[str, Any], file: str) -> tuple[bool, Section | None, list[str]]:
    """Return whether a file, as it was read, switches the composite reward on, its section, and every fault.

    The section is None where it is off or something is wrong with it. ``file`` is what it is called in a message.
    """
    if _is_off(content):  # in most runs: pydantic takes 0.1 s to import
        return False, None, []
    _, faults = parse(File, content, lambda path: file)
    raw = content.get("composite_reward") or {}

    def name(path: str) -> str:
        return f"{file}: composite_reward" + f".{path}" * bool(path)

    if isinstance(raw, Mapping) and raw.get("enable") is True:
        section, wrong = parse(Section, raw, name)
        return True, section if not faults else None, [*faults, *wrong]
    return False, None, [*faults, *parse(OffSection, raw, name)[1]]

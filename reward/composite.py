"""Several rewards for one response, weighted: rule, reward model, judge, or any other async component.

composite_reward:
enable: true
weights: {rm_score: 0.7, rule_score: 0.3}
scale: {rm_score: sigmoid, judge_score: {kind: zscore}}     # none is the default
gates: {judge_score: {component: format_score, at_least: 1}}
options: {length_penalty: {limit: 512}}                     # of the components, reward/components.py
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reward.support.errors import RewardError
from reward.support.moments import RunningMoments

SCORES = ("rule_score", "rm_score", "judge_score")
KINDS = ("none", "clip", "sigmoid", "zscore")
MOST = 5.0  # a z-score is cut here: one wild value must not rule a batch
NOTHING = 1e-12  # a smaller standard deviation is that of one value: z-scores are 0
Component = Callable[[], Awaitable[Mapping[str, float]]]
Raw = Mapping[str, float | None]  # None: the component gave no value; NaN: it is left out
Result = dict[str, float | None]  # None: not known


class CompositeError(ValueError):
    """A ``composite_reward`` section that cannot be used."""


SECTION = ("enable", "weights", "scale", "gates", "options")


@dataclass(frozen=True)
class Scale:
    """How a component is brought to a common scale.

    ``clip``: into [low, high]. ``sigmoid``: 1 / (1 + exp(-(x - center) / width)). ``zscore``: (x - mean) / standard
    deviation, within 5, of what ``reward/zscore.py`` has seen: one sample alone cannot tell.
    """

    kind: str = "none"
    low: float = 0.0
    high: float = 1.0
    center: float = 0.0
    width: float = 1.0


@dataclass(frozen=True)
class Gate:
    """A component is asked only where the raw value of ``component`` is ``at_least`` this; else it is ``otherwise``."""

    component: str
    at_least: float = 1.0
    otherwise: float = 0.0


@dataclass(frozen=True)
class Composite:
    """What to combine."""

    weights: Mapping[str, float]
    scales: Mapping[str, Scale] = field(default_factory=dict)
    gates: Mapping[str, Gate] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of every result: score, unscored, and for each component its raw and scaled value and weight."""
        parts = (key for name in self.weights for key in (name, f"{name}_scaled", f"{name}_weight"))
        return ("score", "unscored", *parts)

    @property
    def zscored(self) -> tuple[str, ...]:
        """The components that are scaled by all values seen so far."""
        return tuple(name for name in self.weights if self.scales.get(name, Scale()).kind == "zscore")


def configure(section: Mapping[str, Any]) -> Composite | None:
    """Return what a ``composite_reward`` section says; None where it is not enabled. A weight of 0 is not asked for.

    Raises:
        CompositeError: with every fault, one line each.
    """
    if not section.get("enable"):
        return None
    unknown = section.keys() - set(SECTION)
    faults = [f"composite_reward: there is no {key!r}" for key in sorted(unknown)]
    weights = dict(_parts(section, "weights", faults))
    if not weights:
        faults.append(f"composite_reward.weights: none given; e.g. {{{SCORES[0]}: 0.3, {SCORES[1]}: 0.7}}")
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not math.isfinite(weight):
            faults.append(f"composite_reward.weights.{name}={weight!r}: a number is wanted")
    scales = {name: _scale(name, given, faults) for name, given in _parts(section, "scale", faults).items()}
    gates = {name: _gate(name, given, faults) for name, given in _parts(section, "gates", faults).items()}
    for name in [*scales, *gates]:
        if name not in weights:
            faults.append(f"composite_reward: {name} has no weight; there are {', '.join(weights)}")
    faults += [
        f"composite_reward.gates.{name}: it waits for itself" for name in gates if _waits_for_itself(name, gates)
    ]
    if faults:
        raise CompositeError("\n".join(faults))
    asked = {name: float(weight) for name, weight in weights.items() if weight}
    return Composite(asked, scales, {name: gate for name, gate in gates.items() if name in asked})


def _scale(name: str, given: Any, faults: list[str]) -> Scale:
    try:
        scale = Scale(**({"kind": given} if isinstance(given, str) else dict(given or {})))
        numbers = [float(value) for value in (scale.low, scale.high, scale.center, scale.width)]
    except (TypeError, ValueError) as error:
        faults.append(f"composite_reward.scale.{name}: {error}")
        return Scale()
    if scale.kind not in KINDS:
        faults.append(f"composite_reward.scale.{name}: {scale.kind!r}: one of {', '.join(KINDS)}")
    if not all(map(math.isfinite, numbers)) or numbers[0] >= numbers[1] or numbers[3] <= 0:
        faults.append(f"composite_reward.scale.{name}: low < high and width > 0 are wanted")
    return scale


def _gate(name: str, given: Any, faults: list[str]) -> Gate:
    try:
        gate = Gate(**dict(given or {}))
        return Gate(str(gate.component), float(gate.at_least), float(gate.otherwise))
    except (TypeError, ValueError) as error:
        faults.append(f"composite_reward.gates.{name}: {error}")
        return Gate("")


def _parts(section: Mapping[str, Any], name: str, faults: list[str]) -> Mapping[str, Any]:
    """Return a mapping of the section; {} after noting that it is none."""
    part = section.get(name) or {}
    if isinstance(part, Mapping):
        return part
    faults.append(f"composite_reward.{name}: a mapping of component to setting is wanted, not {part!r}")
    return {}


def _waits_for_itself(name: str, gates: Mapping[str, Gate]) -> bool:
    at = gates[name].component
    for _ in gates:
        if at == name:
            return True
        if at not in gates:
            return False
        at = gates[at].component
    return False


def scaled(value: float, scale: Scale, seen: RunningMoments) -> float:
    """Return ``value`` on the common scale; ``seen`` is what a z-score goes by, and 0 where it has seen nothing."""
    if scale.kind == "clip":
        return max(scale.low, min(scale.high, value))
    if scale.kind == "sigmoid":
        return 0.5 * (1.0 + math.tanh((value - scale.center) / scale.width / 2))  # does not overflow
    if scale.kind == "zscore":
        return max(-MOST, min(MOST, (value - seen.mean) / seen.std)) if seen.std > NOTHING else 0.0
    return value


async def ask(composite: Composite, components: Mapping[str, Component]) -> Raw:
    """Ask the components of one sample at the same time; return the raw value of each that has a weight.

    ``components`` has a callable for each weight, and for each component that a gate waits for. It returns a mapping
    with its own name, or ``score``, and perhaps ``unscored`` or ``left_out``. One that is missing, unscored, not finite
    or that raises a RewardError gave no value; any other exception is the caller's.
    """
    tasks: dict[str, asyncio.Task[float | None]] = {}

    async def one(name: str) -> float | None:
        gate = composite.gates.get(name)
        if gate is not None:
            value = await task(gate.component)
            if value is None or value < gate.at_least:
                return None if value is None else gate.otherwise
        return await _value(name, components.get(name))

    def task(name: str) -> "asyncio.Task[float | None]":
        if name not in tasks:
            tasks[name] = asyncio.ensure_future(one(name))
        return tasks[name]

    try:
        values = await asyncio.gather(*map(task, composite.weights))
    finally:
        for each in tasks.values():
            each.cancel()
    return dict(zip(composite.weights, values, strict=True))


def combine(composite: Composite, raw: Raw, seen: Mapping[str, RunningMoments]) -> Result:
    """Return the weighted sum with its parts: the keys of ``Composite.keys``, whatever happened.

    A component without a value leaves the sample unscored; one that is left out has the weight 0, and a sample of
    which all are left out is unscored. ``seen`` is what z-scores go by.
    """
    found: Result = dict.fromkeys(composite.keys)
    known = [value for name in composite.weights if (value := raw.get(name)) is not None]
    whole = len(known) == len(composite.weights) and not all(map(math.isnan, known))
    score = 0.0
    for name, weight in composite.weights.items():
        value = raw.get(name)
        left_out = value is not None and math.isnan(value)
        found[f"{name}_weight"] = 0.0 if left_out else weight
        if value is None or left_out:
            found |= {name: 0.0, f"{name}_scaled": 0.0} if left_out else {}
            continue
        found[name] = value
        if whole:
            scale = composite.scales.get(name, Scale())
            found[f"{name}_scaled"] = part = scaled(value, scale, seen.get(name, RunningMoments()))
            score += weight * part
    return found | {"score": score if whole else None, "unscored": float(not whole)}


async def _value(name: str, component: Component | None) -> float | None:
    if component is None:
        return None
    try:
        answer = await component()
    except RewardError:
        return None
    value = answer.get(name, answer.get("score"))
    if answer.get("left_out"):
        return math.nan
    if answer.get("unscored") or value is None or not math.isfinite(value):
        return None
    return float(value)

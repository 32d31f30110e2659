"""Knobs that were given and change nothing, as another one says that what they tune is not done.

``effective_when`` of ``config/knobs.tsv`` is made of conditions, joined by ``&`` and ``|`` (of which ``&`` binds
tighter): ``ENV=value,value`` (one of these; ``ENV=``: not given), ``ENV!=value`` (``ENV!=``: given) and
``ENV>number``. ``REWARD`` is the kind of reward.
"""

import re
from collections.abc import Mapping

from trainer.settings.knobs import Knob, Value, load_knobs

CONDITION = re.compile(r"(?P<env>[A-Z_]+)(?P<sign>!=|=|>)(?P<right>\S*)")


def without_effect(values: Mapping[str, Value], explicit: frozenset[str], reward: str) -> str:
    """Return one line on the knobs that were ``explicit`` in vain; nothing where there is none.

    ``reward`` is the kind of reward, a file of ``config/reward/``.
    """
    knobs = {knob.env: knob for knob in load_knobs()}
    all_values = {**values, "REWARD": reward}
    phrases = [
        f"--{knob.flag} (only with {_description(knob.effective_when, knobs)})"
        for knob in knobs.values()
        if knob.env in explicit and knob.effective_when and not _holds(knob.effective_when, all_values)
    ]
    return f"no effect in this run: {', '.join(phrases)}" if phrases else ""


def _conditions(text: str) -> list[list[re.Match[str]]]:
    """Return the alternatives of an expression, each a list of conditions."""
    alternatives = []
    for alternative in text.split(" | "):
        matches = [CONDITION.fullmatch(condition) for condition in alternative.split(" & ")]
        assert all(matches), f"config/knobs.tsv: {text!r} is no condition"
        alternatives.append([match for match in matches if match])
    return alternatives


def _holds(text: str, values: Mapping[str, Value]) -> bool:
    return any(all(_is_so(condition, values) for condition in alternative) for alternative in _conditions(text))


def _is_so(condition: re.Match[str], values: Mapping[str, Value]) -> bool:
    value, right = values[condition["env"]], condition["right"]
    if condition["sign"] == ">":
        return isinstance(value, int | float) and value > float(right)
    text = str(value).lower() if isinstance(value, bool) else str(value or "")
    return (text in right.split(",")) == (condition["sign"] == "=")


def _description(text: str, knobs: Mapping[str, Knob]) -> str:
    alternatives = [[_condition_text(condition, knobs) for condition in conditions] for conditions in _conditions(text)]
    return ", or ".join(map(" and ".join, alternatives))


def _condition_text(condition: re.Match[str], knobs: Mapping[str, Knob]) -> str:
    env, sign, right = condition["env"], condition["sign"], condition["right"]
    if env == "REWARD":
        return f"a reward by {' or '.join(right.split(','))}"
    knob = knobs[env]
    if knob.type == "switch":
        return f"--{knob.flag}" if right == "true" else f"--no_{knob.flag}"
    if sign == ">":
        return f"--{knob.flag} above {right}"
    if not right:
        return f"{'' if sign == '!=' else 'no '}--{knob.flag}"
    return f"--{knob.flag} {'other than ' * (sign == '!=')}{' or '.join(right.split(','))}"

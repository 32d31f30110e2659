"""Which reward a run is trained on: rule functions, one of the user's, the judge, a local model, or a composite."""

import difflib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reward import components, composite
from reward.support import yaml_file
from trainer import ROOT
from trainer.settings.knobs import Value

SECTION = "composite_reward"
FILE = ROOT / "config" / "reward_model_config.yaml"
# Component of a composite -> the knob that brings it, and what it is without; rules need none.
COMPONENTS = {
    **dict.fromkeys(components.COMPONENTS, ("", True)),
    "rm_score": ("REWARD_MODEL_PATH", ""),
    "judge_score": ("USE_API_REWARD", False),
}
FLAGS = {"REWARD_MODEL_PATH": "--reward_model PATH", "USE_API_REWARD": "--use_api_reward"}


@dataclass(frozen=True)
class RewardChoice:
    """The kind of reward (a file of ``config/reward/``), a composite's weights and section, and what is wrong."""

    kind: str
    weights: Mapping[str, float] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    section: Mapping[str, Any] = field(default_factory=dict)

    @property
    def by_rule(self) -> bool:
        """Whether the kit's rules score the rows, by their data_source."""
        return self.kind == "rule" or "rule_score" in self.weights

    @property
    def by_model(self) -> bool:
        """Whether a local reward model takes part."""
        return self.kind == "model" or "rm_score" in self.weights


def choose(values: Mapping[str, Value], file: Path = FILE) -> RewardChoice:
    """Choose by the knobs, and by ``composite_reward`` in ``file`` where PyYAML is there to read it."""
    chosen = _choose(values, file)
    try:
        mistyped = [fault for fault in _mistyped(file, _section(file)) if fault not in chosen.faults]
    except yaml_file.YamlFileError:  # told by _choose
        mistyped = []
    return replace(chosen, faults=(*chosen.faults, *mistyped)) if mistyped else chosen


def _choose(values: Mapping[str, Value], file: Path) -> RewardChoice:
    judge, model = values["USE_API_REWARD"] is True, bool(values["REWARD_MODEL_PATH"])
    try:
        section = _section(file)
    except yaml_file.YamlFileError as error:
        return RewardChoice("rule", faults=(f"config/{file.name}: not readable: {error}",))
    own = bool(values["REWARD_FN"])
    others = ["--use_api_reward"] * judge + ["--reward_model"] * model
    if own and (others or section.get("enable") is True):
        others += [f"composite_reward in config/{file.name}"] * (section.get("enable") is True)
        fault = f"--reward_fn scores alone: leave out {' and '.join(others)}, or combine the scores in the function"
        return RewardChoice("function", faults=(fault,))
    if section.get("enable") is True:
        return _composite(section, values, file)
    faults = []
    if judge and model:
        faults.append(
            "--use_api_reward and --reward_model exclude each other; for both at once enable composite_reward in "
            f"config/{file.name}"
        )
    if not isinstance(section.get("enable", False), bool):
        faults.append(f"config/{file.name}: composite_reward.enable is {section['enable']!r}; allowed: true, false")
    kind = "function" if own else "judge" if judge else "model" if model else "rule"
    return RewardChoice(kind, faults=tuple(faults))


def _section(file: Path) -> Mapping[str, Any]:
    if importlib.util.find_spec("yaml") is None or not file.exists():
        return {}
    section = yaml_file.read(file).get("composite_reward") or {}
    return section if isinstance(section, dict) else {"enable": section}


def _mistyped(file: Path, section: Mapping[str, Any]) -> list[str]:
    """Return which keys of the file nobody reads: with ``composit_reward`` there is no composite."""
    if importlib.util.find_spec("yaml") is None or not file.is_file():
        return []
    content = yaml_file.read(file)
    faults = []
    for where, keys, known in (("", content, (SECTION,)), (f"{SECTION}.", section, composite.SECTION)):
        for key in keys if isinstance(keys, dict) else ():
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                faults.append(f"config/{file.name}: there is no {where}{key}; {hint}")
    return faults


def _composite(section: Mapping[str, Any], values: Mapping[str, Value], file: Path) -> RewardChoice:
    where, weights = f"config/{file.name}: composite_reward.weights", section.get("weights")
    given = weights if isinstance(weights, dict) else {}
    faults = [
        f"{where}.{name}: there is no such component; there are {', '.join(COMPONENTS)}"
        for name in given
        if name not in COMPONENTS
    ]
    found: dict[str, float] = {}
    for name, (env, without) in COMPONENTS.items():
        weight = given.get(name, 0)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
            faults.append(f"{where}.{name} is {weight!r}; allowed: a number 0 or more")
        elif weight and env and values[env] == without:
            faults.append(f"{where}.{name} is {weight:g}: add {FLAGS[env]}, or set it to 0")
        elif not weight and env and values[env] != without:
            faults.append(f"{FLAGS[env]}: its weight, {where}.{name}, is 0; raise it, or leave the flag out")
        elif weight:
            found[name] = float(weight)
    if not found and not faults:
        faults.append(f"{where}: all are 0; give at least one of {', '.join(COMPONENTS)} a weight")
    rest = {
        **{name: section[name] for name in composite.SECTION if name in section},
        "weights": dict.fromkeys(COMPONENTS, 1),
    }
    options = section.get("options") or {}
    faults += [f"config/{file.name}: {fault}" for fault in [*_faults_of(rest), *components.option_faults(options)]]
    kept = {name: section[name] for name in ("scale", "gates", "options") if section.get(name)}
    if "rm_score" in found and values["RM_NORMALIZE"] == "running" and not faults:
        scale = dict(kept.get("scale") or {})
        if scale.setdefault("rm_score", "zscore") not in ("zscore", {"kind": "zscore"}):
            faults.append(
                f"--rm_normalize running is scale {{rm_score: zscore}} in a composite, and config/{file.name} has "
                f"another: {scale['rm_score']!r}; leave one of them out"
            )
        kept["scale"] = scale
    return RewardChoice("composite", found, tuple(faults), {"weights": found, **kept})


def _faults_of(section: Mapping[str, Any]) -> list[str]:
    """What is wrong with scales and gates; a gate may wait for a component that has no weight."""
    try:
        made = composite.configure(section)
    except composite.CompositeError as error:
        return str(error).splitlines()
    assert made is not None
    return [
        f"composite_reward.gates.{name}.component: there is no {gate.component!r}; there are {', '.join(COMPONENTS)}"
        for name, gate in made.gates.items()
        if gate.component not in COMPONENTS
    ]

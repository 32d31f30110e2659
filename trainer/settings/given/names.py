"""Flags that there are none of, and which ones were meant; names of other frameworks are those of a page of docs/."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import cache

from reward.support.nearest import nearest
from trainer import ROOT
from trainer.settings import messages
from trainer.settings.given import typing_slips
from trainer.settings.knobs import Knob

# What is no flag, but looked for among them.
NO_FLAGS = {"composite_reward": "a composite is switched on in config/reward_model_config.yaml, with enable: true"}
PAGE = ROOT / "docs" / "coming_from.md"
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \| ([^|]*) ?\|$")


@cache
def elsewhere() -> Mapping[str, tuple[str, ...]]:
    """Return what each name of another framework is here, as the tables of ``PAGE`` have it."""
    texts: dict[str, tuple[str, ...]] = {}
    framework = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in PAGE.read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                framework = line[3:].partition(" (")[0].partition(":")[0]
            elif match := ROW.fullmatch(line):
                here, remark = (match[part].strip().replace("`", "") for part in (2, 3))
                text = f"{framework}'s is {here} here" if here != "-" else f"{framework}'s has no counterpart here"
                text += f" ({remark})" * bool(remark)
                for name in re.findall(r"`([^`]+)`", match[1]):
                    texts[name] = (*texts.get(name, ()), text)
    return texts


def faults(environ: Mapping[str, str], knobs: Sequence[Knob]) -> list[str]:
    """Return what is wrong with the flags that ``train.sh`` could not read."""
    lines = []
    if (asked := environ.get(messages.ENV, messages.LANGUAGES[0])) not in messages.LANGUAGES:
        lines.append(f"--lang {asked or '(no value)'}: there are {' and '.join(messages.LANGUAGES)}")
    for name in filter(None, environ.get("KIT_UNKNOWN", "").split("\n")):
        if name.endswith(" (a value)"):
            flag = name.removesuffix(" (a value)")
            lines.append(f"--{flag}: it takes no value; write --{flag}, or --{flag.removeprefix('no_')}=false")
        elif name.endswith(" (no value)"):
            flag = name.removesuffix(" (no value)")
            lines.append(f"--{flag}: a value is missing; write --{flag} VALUE or --{flag}=VALUE")
        else:
            lines.append(f"--{name}: there is no such flag; {meant(name, knobs)}")
    return lines


def meant(name: str, knobs: Sequence[Knob], dashes: str = "--") -> str:
    """Return what to do instead of a flag that there is none of; ``dashes`` stand before those that there are."""
    switches = [f"no_{knob.flag}" for knob in knobs if knob.type.startswith("switch") and dashes]
    flags = [knob.flag for knob in knobs] + switches
    by_env = {knob.env.lower(): knob.flag for knob in knobs}
    if dashes and (written := typing_slips.flag_meant(name, flags)):
        return f"did you mean {written}?"
    if theirs := elsewhere().get(name.replace("-", "_")):
        return "; ".join(theirs)
    near = next(iter(nearest(name, [*flags, *by_env, *NO_FLAGS])), "")
    if near in NO_FLAGS:
        return NO_FLAGS[near]
    if not near:
        return "./train.sh --help lists them all"
    return f"did you mean {dashes}{near if near in flags else by_env[near]}?"

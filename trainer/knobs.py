"""The knob table: ``config/knobs.tsv``, the one place where a knob is defined."""

import contextlib
import csv
import math
import os
import re
import sys
from dataclasses import dataclass

from trainer import ROOT

Value = str | int | float | bool | list[str] | None
AUTO = "auto"
NONE = "none"
# What ./train.sh does.
COMMANDS = {
    "": "train",
    "check": "all that a launch checks, and a forecast of memory and disk, in seconds; takes the flags of a run",
    "check_reward": "score good, empty and other rows' answers of the data: can the reward tell them apart?",
    "score FILE": "score the answers of a JSONL file as training would, offline; --out takes the results",
    "judge_check [FILE]": "how far can the LLM judge be trusted? --rm_model A,B compares judges",
    "report RUN [RUN2 ...]": "write report.html of a run, or of several side by side",
    "eval MODEL": "answer the prompts of --data and score the answers as training would; MODEL is a run or a model",
    "chat MODEL": "talk to a run's model, or to any; --system_prompt TEXT",
    "export RUN": "write the model of a run's last checkpoint, or that of --step, as a Hugging Face folder; --out DIR",
    "wheelhouse DIR": "collect what set-up installs, for a machine with no package index (wheelhouse --help)",
}
SWITCH = {"1": "true", "yes": "true", "on": "true", "0": "false", "no": "false", "off": "false"}


@dataclass(frozen=True)
class Knob:
    """One row of the table.

    ``default`` holds everywhere; ``cpu`` replaces it where there is no GPU, and ``tiny`` where the model is
    ``builtin:tiny``. ``allowed`` is an interval (``[0,1]``, ``(0,1]``), a bound (``>=1``, ``>0``) or a list of
    choices (``a|b``); ``none`` after a range (``>0|none``) is no value at all, and another word stands for itself.
    ``key`` names the verl settings that it ends in, separated by blanks.
    """

    flag: str
    env: str
    type: str
    default: str
    cpu: str
    tiny: str
    allowed: str
    key: str
    help: str

    def parse(self, text: str) -> Value:
        """Read ``text`` as a value of this knob.

        Raises:
            ValueError: the text is not of the knob's type or not in its range; the message says what is.
        """
        if text == AUTO and AUTO in (self.default, *self.allowed.split("|")):
            return AUTO
        if text == NONE and self.type in ("int", "float") and NONE in self.allowed.split("|"):
            return None
        if self.type == "text" or (self.type == "int" and text in self.allowed.split("|")[1:]):
            return text
        if self.type == "choice":
            return _choice(text, self.allowed)
        if self.type == "list":
            return [_choice(part.strip(), self.allowed) for part in text.split(",")]
        if self.type == "switch":
            return _choice(SWITCH.get(text.lower(), text.lower()), "true|false") == "true"
        return _number(text, self.type, self.allowed)


def _choice(text: str, allowed: str) -> str:
    if text not in allowed.split("|"):
        raise ValueError(f"allowed: {allowed.replace('|', ', ')}")
    return text


def _number(text: str, kind: str, allowed: str) -> int | float:
    what = "a whole number" if kind == "int" else "a number"
    allowed, _, none = allowed.partition("|")
    words = f"{what} {_range_in_words(allowed)}" + f", or {none}" * bool(none)
    try:
        value: int | float = int(text) if kind == "int" else float(text)
    except ValueError:
        raise ValueError(f"allowed: {words}") from None
    if not (math.isfinite(value) and _in_range(value, allowed)):
        raise ValueError(f"allowed: {words}")
    return value


def _bounds(allowed: str) -> tuple[str, float, float, str]:
    if allowed.startswith(">"):
        return ("[" if allowed.startswith(">=") else "(", float(allowed.lstrip(">=")), math.inf, ")")
    match = re.fullmatch(r"([\[(])([\d.]+),([\d.]+)([\])])", allowed)
    if not match:
        raise AssertionError(f"config/knobs.tsv: {allowed!r} is no range")
    return match[1], float(match[2]), float(match[3]), match[4]


def _in_range(value: float, allowed: str) -> bool:
    left, low, high, right = _bounds(allowed)
    above = value >= low if left == "[" else value > low
    below = value <= high if right == "]" else value < high
    return above and below


def _range_in_words(allowed: str) -> str:
    left, low, high, right = _bounds(allowed)
    lower = f"{low:g} or more" if left == "[" else f"above {low:g}"
    if math.isinf(high):
        return lower
    return f"from {low:g}{'' if left == '[' else ' (not itself)'} to {high:g}{'' if right == ']' else ' (not itself)'}"


def load_knobs() -> list[Knob]:
    """Return all knobs in the order of the table."""
    with (ROOT / "config" / "knobs.tsv").open(encoding="utf-8", newline="") as file:
        return [Knob(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def markdown_table(knobs: list[Knob]) -> str:
    """Return the README's table of knobs."""
    lines = ["| Flag | Env var | Default | No GPU | What |", "|---|---|---|---|---|"]
    for knob in knobs:
        cpu = ", ".join(
            part for part in (f"`{knob.cpu}`" * bool(knob.cpu), f"tiny: `{knob.tiny}`" * bool(knob.tiny)) if part
        )
        default = f"`{knob.default}`" if knob.default else ""
        lines.append(f"| `--{knob.flag}` | `{knob.env}` | {default} | {cpu} | {knob.help} |")
    return "\n".join(lines)


def help_text(knobs: list[Knob]) -> str:
    """Return what ``./train.sh --help`` prints."""
    lines = ["usage: ./train.sh [command] [--flag value ...] [verl.key=value ...]", ""]
    lines += [*(f"  ./train.sh {words:<22} {what}" for words, what in COMMANDS.items()), ""]
    lines += ["Each flag is also an env var. A switch stands alone, and has --no_NAME.", ""]
    for knob in knobs:
        defaults = [knob.default or "none"]
        defaults += [f"no GPU: {knob.cpu}"] * bool(knob.cpu) + [f"builtin:tiny: {knob.tiny}"] * bool(knob.tiny)
        allowed = f"; {knob.allowed.replace('|', ', ')}" if "|" in knob.allowed and knob.type != "switch" else ""
        lines += [f"  --{knob.flag:<24} {knob.env}", f"      {knob.help} (default {'; '.join(defaults)}{allowed})"]
    lines += [
        "",
        "VENV=/path uses an environment that exists; PYTHON=/path picks the interpreter for .venv.",
        "A word like actor_rollout_ref.actor.entropy_coeff=0.01 goes to verl as it is.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # as in ./train.sh --help | head
        print(help_text(load_knobs()), flush=True)
        sys.exit()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

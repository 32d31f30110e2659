"""What ./train.sh --help prints, in English or Chinese. Standard library alone: it runs before anything is installed.

The English texts stand in the knob table and in ``COMMANDS``, the Chinese ones in ``config/*.zh.tsv``.
"""

import contextlib
import csv
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trainer import ROOT
from trainer.settings import messages
from trainer.settings.knobs import COMMANDS, Knob, load_knobs
from trainer.user_error import UserError, fail


@dataclass(frozen=True)
class Language:
    """The words of a language between the names; ``commands`` and ``knobs`` are those that are not English."""

    usage: str = "usage: ./train.sh [command] [--flag value ...] [verl.key=value ...]"
    env_vars: str = "Each flag is also an env var. A switch stands alone, and has --no_NAME."
    default: str = " (default {})"
    none: str = "none"
    no_gpu: str = "no GPU: {}"
    tiny: str = "builtin:tiny: {}"
    smollm2: str = "builtin:smollm2: {}"
    episodes: str = "with --env or --tools: {}"
    environments: str = "VENV=/path uses an environment that exists; PYTHON=/path picks the interpreter for .venv."
    overrides: str = "A word like actor_rollout_ref.actor.entropy_coeff=0.01 goes to verl as it is."
    commands: Mapping[str, str] = field(default_factory=lambda: COMMANDS)
    knobs: Mapping[str, str] = field(default_factory=dict)


def chinese() -> Language:
    """Return the words of Chinese."""
    return Language(
        usage="用法：./train.sh [命令] [--参数 值 ...] [verl.键=值 ...]",
        env_vars="每个参数也是一个环境变量。开关可以单独写，也有 --no_NAME。",
        default="（默认 {}）",
        none="无",
        no_gpu="没有 GPU：{}",
        tiny="builtin:tiny：{}",
        smollm2="builtin:smollm2：{}",
        episodes="用 --env 或 --tools：{}",
        environments="VENV=/path 使用已有的环境；PYTHON=/path 指定建 .venv 用的解释器。",
        overrides="形如 actor_rollout_ref.actor.entropy_coeff=0.01 的词原样交给 verl。",
        commands=_column("commands.zh.tsv", "command"),
        knobs=_column("knobs.zh.tsv", "flag"),
    )


LANGUAGES = {"en": Language, "zh": chinese}


def _column(name: str, key: str) -> dict[str, str]:
    with (ROOT / "config" / name).open(encoding="utf-8", newline="") as file:
        return {row[key]: row["help"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def help_text(knobs: Sequence[Knob], texts: Language) -> str:
    """Return what ``./train.sh --help`` prints."""
    lines = [texts.usage, ""]
    lines += [*(f"  ./train.sh {command:<22} {what}" for command, what in texts.commands.items()), ""]
    lines += [texts.env_vars, ""]
    for knob in knobs:
        defaults = [knob.default or texts.none]
        defaults += [texts.no_gpu.format(knob.cpu)] * bool(knob.cpu) + [texts.tiny.format(knob.tiny)] * bool(knob.tiny)
        defaults += [texts.smollm2.format(knob.smollm2)] * bool(knob.smollm2)
        defaults += [texts.episodes.format(knob.episodes)] * bool(knob.episodes)
        allowed = f"; {knob.allowed.replace('|', ', ')}" if "|" in knob.allowed and knob.type != "switch" else ""
        defaults_text = texts.default.format("; ".join(defaults) + allowed)
        lines += [f"  --{knob.flag:<24} {knob.env}", f"      {texts.knobs.get(knob.flag, knob.help)}{defaults_text}"]
    return "\n".join([*lines, "", texts.environments, texts.overrides])


def language(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the language that is asked for: by ``--lang``, else by the locale's env vars.

    Raises:
        UserError: there is no help in it.
    """
    parts = [part for word in arguments for part in word.split("=", 1)]
    if "--lang" in parts:
        asked = "".join(parts[parts.index("--lang") + 1 :][:1])
        if asked not in LANGUAGES:
            raise UserError(f"--lang {asked or '(no value)'}: there are {' and '.join(LANGUAGES)}")
        return asked
    return messages.language(environ)


def main() -> int:
    """Print the help."""
    try:
        texts = LANGUAGES[language(sys.argv[1:], os.environ)]()
    except UserError as error:
        return fail(error)
    with contextlib.suppress(OSError):  # as in ./train.sh --help | head
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        print(help_text(load_knobs(), texts), flush=True)
        return 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())

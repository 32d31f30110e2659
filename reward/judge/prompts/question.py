"""What a judge is asked about one response: a system prompt and a message, ready to be sent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reward.judge.prompts import template
from reward.judge.prompts.presets import preset, rules
from reward.judge.verdict import ScoreScale
from reward.support.chat import text_of

CHINESE = re.compile("[\u4e00-\u9fff]")
MARKERS = {"prompt": "TASK", "response": "RESPONSE", "ground_truth": "REFERENCE"}
# A letter after "\n" that makes it a command of LaTeX, such as \neq or \nu, rather than the end of a line.
LATEX = (
    r"(?:abla|atural|cong|e|earrow|eg|eq|ewline|exists|geq|i|leq|mid|oindent|ormalsize|ot|otin|prec|sim|sub\w*|sup\w*|u"
    r"|warrow)"
)


@dataclass(frozen=True)
class Question:
    """One response to be judged, as the judge reads it."""

    system: str
    user: str
    again: str  # added where the first reply held no verdict
    scale: ScoreScale


@dataclass(frozen=True)
class Prompts:
    """How questions are made: a preset, or a person's own prompts in place of its parts."""

    preset: str = "general"
    language: str = "auto"  # en, zh, or by the prompt of each sample
    system: str = ""
    scoring: str = ""
    scale: ScoreScale | None = None
    response_chars: int = 24_000

    def language_of(self, prompt: str) -> str:
        """Return the language of the question about a response to ``prompt``."""
        if self.language != "auto":
            return self.language
        return "zh" if CHINESE.search(prompt or self.scoring) else "en"

    def question(self, prompt: str, response: str, ground_truth: str = "") -> Question:
        """Return what to ask about ``response``."""
        language = self.language_of(prompt)
        ready, common = preset(self.preset, language), rules(language)
        scale = self.scale or ready.scale
        most = self.response_chars
        texts = {
            "prompt": template.shorten(template.neutral(prompt), most),
            "response": template.shorten(template.neutral(response), most),
            "ground_truth": template.shorten(template.neutral(ground_truth), most) or common.none,
        }
        code = template.code_of(*texts.values())
        fenced = {name: template.fence(MARKERS[name], text, code) for name, text in texts.items()}
        values = {"code": code, "low": f"{scale.low:g}", "high": f"{scale.high:g}"}
        parts = (
            template.fill(common.opening, values),
            template.fill(self.scoring or ready.scoring, fenced, on_lines=True),
            template.fill(common.closing, values),
        )
        system = (self.system or ready.system) + "\n\n" + template.fill(common.system, values)
        return Question(system, "\n\n".join(parts), template.fill(common.again, values), scale)


def typed(text: str) -> str:
    """Return a prompt as whoever typed it into a shell meant it: a backslash and an n end a line."""
    return re.sub(rf"\\n(?!{LATEX}(?![A-Za-z]))", "\n", text)


def faults(name: str, scoring: str) -> list[str]:
    """Return what is wrong with a scoring prompt; ``name`` is where it was given."""
    used = template.placeholders(scoring)
    allowed = ", ".join(f"{{{name}}}" for name in template.PLACEHOLDERS)
    wrong = [f"{{{name}}}" for name in sorted(used - set(template.PLACEHOLDERS))]
    out = []
    if wrong:
        out.append(
            f"{name}: there is no {', '.join(wrong)}; there are {allowed} (write {{{{word}}}} for {{word}} itself)"
        )
    if "response" not in used:
        out.append(f"{name}: it must hold {{response}}, where the answer to be scored goes")
    return out


def conversation(messages: Any) -> str:
    """Return a prompt as text: a text, or the messages of a chat; the sole message of a user as it is."""
    if isinstance(messages, str):
        return messages
    if not isinstance(messages, Sequence):
        messages = list(messages) if messages is not None else []
    known = [message for message in messages if isinstance(message, Mapping)]
    turns = [(str(message.get("role", "user")), text_of(message.get("content"))) for message in known]
    if len(turns) == 1 and turns[0][0] == "user":
        return turns[0][1]
    return "\n\n".join(f"{role}: {content}" for role, content in turns)

"""Instructions that a program can verify, such as 'no comma' or 'at least 3 bullet points'.

Source: Zhou et al. 2023, 'Instruction-Following Evaluation for Large Language Models' (IFEval): its instruction
names and arguments, its strict reading, and its prompt-level score (all must be followed).
``language:response_language`` is not there, as it wants a language detector.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from reward.errors import GroundTruthError
from reward.rules.rule import Extra, Rule

LONGEST = 65_536  # characters; nobody asked for more
Checker = Callable[..., bool]


def _compare(count: int, wanted: int, relation: str | None) -> bool:
    return count < wanted if relation == "less than" else count >= wanted


def _count(word: str, text: str) -> int:
    return len(re.findall(rf"\b{re.escape(word)}\b", text, re.IGNORECASE))


def _paragraphs(text: str, divider: str) -> list[str]:
    return [part.strip() for part in re.split(divider, text) if part.strip()]


def _json(text: str) -> bool:
    inner = re.sub(r"^```(?:json)?|```$", "", text.strip(), flags=re.IGNORECASE)
    try:
        json.loads(inner)
    except (ValueError, RecursionError):
        return False
    return True


def _first_word(text: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    parts = _paragraphs(text, r"\n\n")
    if len(parts) != num_paragraphs or not 1 <= nth_paragraph <= len(parts):
        return False
    words = parts[nth_paragraph - 1].split()
    return bool(words) and words[0].strip("'\"*_.,!?;:").lower() == first_word.lower()


def _capital_words(text: str) -> int:
    return sum(word.isupper() for word in re.findall(r"\b\w+\b", text))


def _two(text: str) -> bool:
    parts = [part.strip() for part in text.split("******")]
    return len(parts) == 2 and all(parts) and parts[0] != parts[1]


OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
CHECKS: dict[str, Checker] = {
    "keywords:existence": lambda t, keywords: all(_count(k, t) for k in keywords),
    "keywords:frequency": lambda t, keyword, frequency, relation=None: _compare(
        _count(keyword, t), frequency, relation
    ),
    "keywords:forbidden_words": lambda t, forbidden_words: not any(_count(w, t) for w in forbidden_words),
    "keywords:letter_frequency": lambda t, letter, let_frequency, let_relation=None: _compare(
        t.lower().count(letter.lower()), let_frequency, let_relation
    ),
    "length_constraints:number_sentences": lambda t, num_sentences, relation=None: _compare(
        len([s for s in re.split(r"(?<=[.!?。\uff01\uff1f])\s*", t) if s.strip()]), num_sentences, relation
    ),
    "length_constraints:number_paragraphs": lambda t, num_paragraphs: (
        len(_paragraphs(t, r"\s?\*\*\*\s?")) == num_paragraphs
    ),
    "length_constraints:number_words": lambda t, num_words, relation=None: _compare(
        len(re.findall(r"\w+", t)), num_words, relation
    ),
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": lambda t, num_placeholders: (
        len(re.findall(r"\[[^\[\]]*\]", t)) >= num_placeholders
    ),
    "detectable_content:postscript": lambda t, postscript_marker: (
        re.search(rf"^[^\S\n]*{re.escape(postscript_marker)}", t, re.IGNORECASE | re.MULTILINE) is not None
    ),
    "detectable_format:number_bullet_lists": lambda t, num_bullets: (
        len(re.findall(r"^[ \t]*(?:\*[^*\n]|-)", t, re.MULTILINE)) == num_bullets
    ),
    "detectable_format:number_highlighted_sections": lambda t, num_highlights: (
        len(re.findall(r"(?<!\*)\*{1,2}[^\s*][^\n*]{0,999}\*{1,2}", t)) >= num_highlights
    ),
    "detectable_format:multiple_sections": lambda t, section_spliter, num_sections: (
        len(re.findall(rf"{re.escape(section_spliter)}\s?\d+", t)) >= num_sections
    ),
    "detectable_format:json_format": _json,
    "detectable_format:title": lambda t: re.search(r"<<\s*[^<>\s][^<>\n]{0,999}>>", t) is not None,
    "detectable_format:constrained_response": lambda t: any(option in t for option in OPTIONS),
    "combination:two_responses": _two,
    "combination:repeat_prompt": lambda t, prompt_to_repeat: (
        t.strip().lower().startswith(prompt_to_repeat.strip().lower())
    ),
    "startend:quotation": lambda t: len(t.strip()) > 1 and t.strip()[0] == t.strip()[-1] == '"',
    "startend:end_checker": lambda t, end_phrase: t.strip().strip('"').lower().endswith(end_phrase.strip().lower()),
    "change_case:english_capital": lambda t: t.isupper(),
    "change_case:english_lowercase": lambda t: t.islower(),
    "change_case:capital_word_frequency": lambda t, capital_frequency, capital_relation=None: _compare(
        _capital_words(t), capital_frequency, capital_relation
    ),
    "punctuation:no_comma": lambda t: "," not in t,
}


def instructions(ground_truth: Any) -> list[tuple[Checker, dict[str, Any]]]:
    """Return the checks and their arguments.

    ``ground_truth`` is IFEval's pair ``{"instruction_id_list": [...], "kwargs": [...]}``, or a list of
    ``{"id": ..., ARGUMENT: ...}``, or either as JSON.

    Raises:
        GroundTruthError: it is neither, or names an instruction that is not known.
    """
    try:
        truth = json.loads(ground_truth) if isinstance(ground_truth, str) else ground_truth
        if isinstance(truth, dict):
            names = list(truth["instruction_id_list"])
            pairs = list(zip(names, truth.get("kwargs") or [{}] * len(names), strict=True))
        else:
            pairs = [(each["id"], {k: v for k, v in each.items() if k != "id"}) for each in truth]
        arguments = [(name, {k: v for k, v in (given or {}).items() if v is not None}) for name, given in pairs]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise GroundTruthError(f"ground_truth holds no instructions: {error!r}") from None
    unknown = [name for name, _ in arguments if name not in CHECKS]
    if unknown or not arguments:
        raise GroundTruthError(f"ground_truth: unknown instruction {unknown}; there are {', '.join(CHECKS)}")
    return [(CHECKS[name], given) for name, given in arguments]


def check(ground_truth: Any, extra: Extra) -> None:
    """Refuse instructions that are unknown, or lack an argument."""
    score("", ground_truth, extra)


def score(response: str, ground_truth: Any, extra: Extra) -> float:
    """Return 1.0 if every instruction is followed, else 0.0; an empty response follows none.

    Raises:
        GroundTruthError: an instruction is unknown, or lacks an argument.
    """
    wanted = instructions(ground_truth)
    try:
        followed = [checker(response[:LONGEST], **given) for checker, given in wanted]
    except (TypeError, AttributeError) as error:
        raise GroundTruthError(f"ground_truth: an argument of an instruction is wrong: {error}") from None
    return float(bool(response.strip()) and len(response) <= LONGEST and all(followed))


def _no_example(ground_truth: Any, extra: Extra) -> None:
    return None


RULE = Rule("instructions", score, check, _no_example)

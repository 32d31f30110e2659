"""Instructions that a program can verify, such as 'no comma' or 'at least 3 bullet points'.

Source: Zhou et al. 2023, 'Instruction-Following Evaluation for Large Language Models' (IFEval): its instruction
names and arguments, the strict reading of its own implementation, google-research/instruction_following_eval, and its
prompt-level score (all must be followed). Where this differs from it by intent: ``docs/grading.md``.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from reward.rules.parsing import language, sentences
from reward.rules.rule import Extra, Rule
from reward.support.errors import GroundTruthError

LONGEST = 65_536  # characters; nobody asked for more
RELATIONS = ("less than", "at least")
POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
WORD = re.compile(r"\w+")  # as the reference's tokenizer finds it: the signs of Indic vowels end one
# Between words as the Penn Treebank cuts them; contractions are words of their own.
BETWEEN = re.compile(
    '[\\s;@#$%&?!*\\[\\](){}<>"`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u2014\u2026]+|[:,](?!\\d)|--+|\\.{3,}'
)
CONTRACTION = re.compile(
    r"(?<=[^' ])(?:'(?:s|m|d|ll|re|ve)|n't)(?=[ .,]|$)|(?<=\bcan)not\b|(?<=\bg[io][mnt])(?:me|na|ta)\b", re.IGNORECASE
)
Checker = Callable[..., bool]


def _compare(count: int, wanted: int, relation: str | None) -> bool:
    if relation is not None and relation not in RELATIONS:
        raise TypeError(f"relation {relation!r} is not one of {RELATIONS}")
    return count < wanted if relation == "less than" else count >= wanted


def _count(word: str, text: str, whole: bool = False) -> int:
    pattern = re.escape(word)
    return len(re.findall(rf"(?<!\w){pattern}(?!\w)" if whole else pattern, text, re.IGNORECASE))


def _paragraphs(text: str, num_paragraphs: int) -> bool:
    parts = [part.strip() for part in text.split("***")]
    return all(parts[1:-1]) and sum(map(bool, parts)) == num_paragraphs


def _json(text: str) -> bool:
    inner = text.strip()
    for opening in ("```json", "```Json", "```JSON", "```"):
        inner = inner.removeprefix(opening)
    try:
        json.loads(inner.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def _first_word(text: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    parts = [part.strip() for part in text.split("\n\n")]
    if not 1 <= nth_paragraph <= num_paragraphs:
        raise TypeError(f"nth_paragraph {nth_paragraph} is not one of 1 to {num_paragraphs}")
    if sum(map(bool, parts)) != num_paragraphs:
        return False
    words = parts[nth_paragraph - 1].split()
    return bool(words) and re.split(r"[.,?!'\"]", words[0].lstrip("'").lstrip('"'))[0].lower() == first_word.lower()


def _placeholders(text: str) -> int:
    count = 0
    for line in text.split("\n"):
        end = 0
        while (begin := line.find("[", end)) >= 0 and (end := line.find("]", begin) + 1):
            count += 1
    return count


def _highlights(text: str) -> int:
    single, double = re.findall(r"\*[^\n*]*\*", text), re.findall(r"\*\*([^\n*]*)\*\*", text)
    return sum(bool(part.strip("*").strip()) for part in single) + sum(bool(part.strip()) for part in double)


def _title(text: str) -> bool:
    for line in text.split("\n"):
        begin, end = line.find("<<"), line.rfind(">>")
        if begin >= 0 and end > begin + 2 and line[begin : end + 2].lstrip("<").rstrip(">").strip():
            return True
    return False


def _bullets(text: str) -> int:
    starred = re.findall(r"^[^\S\n]*\*[^*].*$", text, re.MULTILINE)
    return len(starred) + len(re.findall(r"^[^\S\n]*-", text, re.MULTILINE))


def _two(text: str) -> bool:
    parts = [part.strip() for part in text.split("******")]
    answers = [part for part in parts if part]
    return all(parts[1:-1]) and len(answers) == 2 and answers[0] != answers[1]


def _capitals(text: str) -> int:
    """The number of words of capitals, as NLTK's ``word_tokenize`` cuts them."""
    return sum(map(str.isupper, CONTRACTION.sub(r" \g<0>", BETWEEN.sub(" ", text)).split()))


def _english(text: str) -> bool:
    return language.detect(text) in ("en", None)


def _in_language(text: str, name: str) -> bool:
    if name not in language.LANGUAGES:
        raise TypeError(f"language {name!r} is not one of {', '.join(sorted(language.LANGUAGES))}")
    return language.detect(text) in (name, None)


OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
CHECKS: dict[str, Checker] = {
    "keywords:existence": lambda t, keywords: all(_count(k, t) for k in keywords),
    "keywords:frequency": lambda t, keyword, frequency, relation=None: _compare(
        _count(keyword, t), frequency, relation
    ),
    "keywords:forbidden_words": lambda t, forbidden_words: not any(_count(w, t, whole=True) for w in forbidden_words),
    "keywords:letter_frequency": lambda t, letter, let_frequency, let_relation=None: _compare(
        Counter(t.lower())[letter.lower()], let_frequency, let_relation
    ),
    "language:response_language": lambda t, language: _in_language(t, language),
    "length_constraints:number_sentences": lambda t, num_sentences, relation=None: _compare(
        sentences.count(t), num_sentences, relation
    ),
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_words": lambda t, num_words, relation=None: _compare(
        len(WORD.findall(t)), num_words, relation
    ),
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": lambda t, num_placeholders: _placeholders(t) >= num_placeholders,
    "detectable_content:postscript": lambda t, postscript_marker: (
        re.search(POSTSCRIPTS.get(postscript_marker, re.escape(postscript_marker.lower())), t.lower()) is not None
    ),
    "detectable_format:number_bullet_lists": lambda t, num_bullets: _bullets(t) == num_bullets,
    "detectable_format:number_highlighted_sections": lambda t, num_highlights: _highlights(t) >= num_highlights,
    "detectable_format:multiple_sections": lambda t, section_spliter, num_sections: (
        len(re.findall(rf"{re.escape(section_spliter.strip())}\s?\d+", t)) >= num_sections
    ),
    "detectable_format:json_format": _json,
    "detectable_format:title": _title,
    "detectable_format:constrained_response": lambda t: any(option in t for option in OPTIONS),
    "combination:two_responses": _two,
    "combination:repeat_prompt": lambda t, prompt_to_repeat: (
        t.strip().lower().startswith(prompt_to_repeat.strip().lower())
    ),
    "startend:quotation": lambda t: len(t.strip()) > 1 and t.strip()[0] == t.strip()[-1] == '"',
    "startend:end_checker": lambda t, end_phrase: t.strip().strip('"').lower().endswith(end_phrase.strip().lower()),
    "change_case:english_capital": lambda t: t.isupper() and _english(t),
    "change_case:english_lowercase": lambda t: t.islower() and _english(t),
    "change_case:capital_word_frequency": lambda t, capital_frequency, capital_relation=None: _compare(
        _capitals(t), capital_frequency, capital_relation
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
            pairs = [(entry["id"], {k: v for k, v in entry.items() if k != "id"}) for entry in truth]
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


def _example(ground_truth: Any, extra: Extra) -> str | None:
    """Return the row's own: what follows all instructions is not to be made up from their names."""
    answer = extra.get("right_answer")
    return answer if isinstance(answer, str) else None


RULE = Rule("instructions", score, check, _example)

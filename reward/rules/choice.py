r"""Multiple choice: the letter of the final answer.

Source: Hendrycks et al. 2021 (MMLU) for the shape; the extraction is the kit's own. In this order: an ``<answer>``
tag, the last ``\boxed{}``, the last 'answer is ...', the last letter that stands alone. Two different letters in
that place are no answer, letters that are said to be wrong and letters beyond the choices are none at all.
"""

import re
from typing import Any

from reward.rules import rule
from reward.rules.parsing import answer
from reward.rules.parsing.choices import marked, ordinals, prose, wording
from reward.rules.parsing.choices.confirmed import are_undecided, asserted, by_verdicts, confirmed
from reward.rules.parsing.choices.denied import DENIED, left_over, without_denied
from reward.rules.parsing.choices.letters import (
    FULLWIDTH,
    LETTER,
    LETTERS,
    UNDECIDED,
    USUAL,
    LetterPattern,
    are_alternatives,
    are_letters,
    is_conditional,
    is_name,
    lone_letters,
    named_lower,
    without_formulas,
    without_listing,
    without_reasons,
)
from reward.rules.parsing.choices.wording import by_text, plain
from reward.rules.parsing.phrases import refusal
from reward.rules.rule import Extra, Rule
from reward.support.errors import GroundTruthError

OPENING = LetterPattern(
    r"(?![^A-Za-z0-9]*(?:起初|最初|一开始|开始|原以为|本来|先是|看似"
    r"|.{0,64}[^\w\s] ?(?:等等|等一下|我?[看想搞]错|再看)))"
    r"[^A-Za-z0-9]*(?:(?:option|choice|answer|letter) )?\W{0,9}([A-Ja-j])(?:[^\w\s'\u2019?.]|\.(?![A-J](?![a-z ]))|\Z)",
    re.IGNORECASE,
)
# A choice with its full stop, which is no end of a sentence: 'A) Paris. is wrong'.
DENIED_TEXT = LetterPattern(rf"(?<![A-Za-z0-9])([A-J])[).:] (?:(?![A-J][).:])[^.\n]){{1,80}}\.(?= {DENIED})")
SIGNED = re.compile(r"\AA ?[:\uff1a]\s*(?=\S)")  # 'A: ', of a prompt with questions and answers
LED = LetterPattern(r"[^A-Za-z0-9]*(?:(?:option|choice|answer|letter) )?\W{0,9}([A-Ja-j])(?=\W)", re.IGNORECASE)
LABELLED = re.compile(r"\W*(?:(?:option|choice|answer) \W*)?(\d{1,2})(?:\W*|\W*[).:,]\s.*)", re.IGNORECASE | re.DOTALL)
EXPLANATION = re.compile(
    r"\n[^\w\n]{0,8}(?:(?:explanation|reason(?:ing|s)?|rationale|justification|the reason|because)\b"
    r"|解析|解释|理由|分析|因为|说明)",
    re.IGNORECASE,
)
SAYS = re.compile(r".*(?:\b(?:is|be|it's)\s|= ?(?=\S))", re.DOTALL)
# A response that begins with its letter, on a line alone, and then goes on.
HEADED = LetterPattern(
    r"\s*[(\[*_]{0,4}([A-J])[)\]*_.]{0,4}[ \t]*\n(?!\s*[(\[*_]{0,4}[A-J][)\]*_.]{0,4}[ \t]*(?:\n|\Z))"
)
LOWER = LetterPattern(r"\W*(?:(?:option|choice|letter|ans\b\W{0,3}) ?)?\(?([a-j])\W*", re.IGNORECASE)
# The question's choices over again: 'A. cats B. dogs C. birds D. fish'.
MENU = re.compile(
    r"\W*" + r"[^\n]{1,200}?(?<![A-Za-z0-9])".join(rf"{letter} ?[.):\u3001\uff0e\uff1a]" for letter in "ABCD")
)
EDGES = " \t\r\n.:,;()-"
LONGEST_CHOICE = 1_024
# Behind the last letter of a response that states no answer.
NO_ANSWER = re.compile(
    rf"{refusal.REFUSAL.pattern}|\b(?:none|neither|not any) of"
    r" (?:these\b|those\b|the (?:\w+ )?(?:above|options|choices|answers)|the (?:given|listed|provided)\b)"
    r"|\b(?:no|without a) (?:correct|definitive|single|valid) (?:answer|option|choice)",
    re.IGNORECASE,
)
# There such words are a choice's own: 'C) It cannot be determined', 'D, none of the above'.
NEXT_TO_LETTER = re.compile(r"[)\]*]*[).:][^.!?\n]{0,200}|[\W_]{0,8}(?:is |that is |i\.e\., )?\W{0,4}")
SHORT = 2  # words of a response that is a statement as a whole ('Figure B')
MARK = re.compile("[\u00d7\u221a]")  # a verdict on each letter
ANY_LETTER = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
CHOSEN = LetterPattern(r"(?:[故应應]?[选選]择?|选项|選項)[^A-Za-z\n]{0,4}(?=[A-J](?![A-Za-z]))")


def _choices(extra: Extra) -> list[str]:
    choices = extra.get("choices")
    if isinstance(choices, dict):
        choices = choices.get("text")  # ARC's form
    return [] if choices is None else [wording.with_plain_times(str(choice).strip()) for choice in choices]


def _labels(extra: Extra) -> list[str]:
    choices = extra.get("choices")
    return [str(label) for label in choices.get("label", ())] if isinstance(choices, dict) else []


def expected_letter(ground_truth: Any, extra: Extra) -> str:
    """Return the right letter; the truth is a letter, an index from 0, or the text of one of ``extra_info.choices``.

    Digits are an index even where the choices are numbers too, as in MMLU, unless the choices bear labels, as in ARC.

    Raises:
        GroundTruthError: it is none of these.
    """
    text = wording.with_plain_times(rule.text(ground_truth).strip().translate(FULLWIDTH))
    choices = _choices(extra)
    letters = LETTERS[: len(choices)] or LETTERS
    if text in (labels := _labels(extra))[: len(letters)]:
        return LETTERS[labels.index(text)]
    letter = text.strip("().").upper()
    if len(letter) == 1 and letter in letters:
        return letter
    if text.isdecimal() and len(text) < 3 and int(text) < len(letters):
        return letters[int(text)]
    if text in choices[: len(LETTERS)]:
        return LETTERS[choices.index(text)]
    if named := by_text(text, choices) or _opening(text, letters, choices):
        return named
    raise GroundTruthError(f"ground_truth {text[:80]!r} is no letter, index or text of extra_info.choices")


def check(ground_truth: Any, extra: Extra) -> None:
    """Refuse a ground truth that names no choice."""
    expected_letter(ground_truth, extra)


def _opening(text: str, letters: str, choices: list[str]) -> str | None:
    """The letter that ``text`` begins with, where the choice's text follows it."""
    text = wording.MARKUP.sub("", text)
    opening = LED.of(letters).match(text)
    letter = opening[1].upper() if opening else ""
    if not opening or letter not in letters:
        return None
    rest = text[opening.end(1) :].lstrip(" .:=,)(-\u2013\u2014\u3001\uff1a")
    return letter if letter in (by_text(rest, choices), by_text(rest.rstrip(".)"), choices)) else None


def _labelled(text: str, labels: list[str]) -> str | None:
    """The letter of the label, a number as ARC has them, that ``text`` begins with."""
    match = LABELLED.fullmatch(text.strip())
    return LETTERS[labels.index(match[1])] if match and match[1] in labels[: len(LETTERS)] else None


def _letter(text: str, letters: str, choices: list[str], stated: bool = True) -> str | None:
    """The one choice that a text names; None where it names none or several.

    ``stated``: the text is a statement, so 'point B' in it is a choice; else a letter behind such a noun is a name.
    """
    lower = LOWER.of(letters).fullmatch(plain(text))
    if lower and lower[1].upper() in letters:
        return lower[1].upper()
    lead = None if "\n" in text.strip() else SAYS.match(text)
    for part in (text, text[lead.end() :] if lead else ""):  # 'It is A cat.' may be a choice's text
        if not LOWER.of(letters).fullmatch(part) and (named := by_text(part, choices)):
            return named
    if led := _opening(text, letters, choices):  # 'C - A cat'
        return led
    full = text
    text = without_denied(without_listing(without_formulas(text, letters), letters), letters)
    mentions = lone_letters(text, letters)
    if not mentions and choices and (left := left_over(full, letters)):
        return left
    if is_conditional(text, mentions):
        return None
    if are_letters(text, letters):
        return None
    opening = OPENING.of(letters).match(text)
    if opening and opening[1].upper() in letters:  # "(B) A dog": the letter in front counts, others in its text do not
        letter, end = opening[1].upper(), opening.end(1)
        several = _is_listing(text, mentions[:2], choices) or any(
            other != letter and (text[begin - 1 : begin] == "(" or text[after : after + 1] in (")", ":"))
            for other, begin, after in mentions
        )
        rest = [(letter, opening.start(1), end), *(other for other in mentions if other[1] >= end)]
        return None if several or are_alternatives(text, rest, 0) else letter
    names = {mention[0] for mention in mentions if not is_name(text, mention)}
    names = names or {letter for letter, _, _ in mentions if stated} or named_lower(text, letters)
    return names.pop() if len(names) == 1 else None


def _is_open(text: str, letters: str, choices: list[str]) -> bool:
    """Whether a response says at its end that it decides for none, in words that are no choice's own."""
    mentions = lone_letters(text, letters)
    if UNDECIDED.search(text[-64:]) and len({letter for letter, _, _ in mentions}) > 1:
        return True
    if not mentions or any(map(NO_ANSWER.search, choices)):
        return False
    none = NO_ANSWER.search(text, max(mentions[-1][2], len(text) - LONGEST_CHOICE))
    return none is not None and NEXT_TO_LETTER.fullmatch(text, mentions[-1][2], none.start()) is None


def _judged(text: str, letters: str, choices: list[str]) -> tuple[str | None, ...]:
    """The letter of a response that corrects itself at its end, or goes through the choices; () for others."""
    corrected = _letter(prose.correction(text), letters, [])
    if judged := corrected or by_verdicts(text, letters, choices) or marked.by_mark(text, letters):
        return (judged,)
    rest = marked.behind_list(text, letters) if choices else ""
    if rest and not lone_letters(rest, letters):
        return (prose.by_words(rest, choices),)
    is_list = bool(choices) and "\n" in text and prose.is_listing(text, letters)
    return (None,) if is_list or are_undecided(text, letters) else ()


def _last(text: str, letters: str, choices: list[str]) -> str | None:
    """The last letter of a response that states no answer."""
    if _is_open(text, letters, choices):
        return None
    for judged in _judged(text, letters, choices):
        return judged
    signed = SIGNED.sub("", text.strip())
    text = signed if LOWER.of(letters).fullmatch(signed) else text
    head = EXPLANATION.split(text.strip(), maxsplit=1)[0]
    for part in dict.fromkeys((text.strip(), head if "\n" not in head.strip() else "")):
        if (
            part
            and len(part) < answer.LONGEST_STATEMENT
            and (whole := _letter(part, letters, choices, stated=len(part.split()) <= SHORT))
        ):
            return whole
    if (headed := HEADED.of(letters).match(text)) and headed[1] in letters:
        return headed[1]
    text = without_denied(without_listing(without_formulas(text, letters), letters), letters)
    if right := confirmed(text, letters) or asserted(text, letters):
        return right
    chosen = list(CHOSEN.of(letters).finditer(text))
    mentions = [mention for mention in lone_letters(text, letters) if not chosen or mention[1] >= chosen[-1].end()]
    if chosen:
        mentions = mentions[:2] if len(mentions) > 1 and are_alternatives(text, mentions, 0) else mentions[:1]
    else:
        while mentions and is_name(text, mentions[-1]):
            mentions.pop()
    if not mentions:
        line = text.strip().rsplit("\n", 1)[-1]
        lead = SAYS.match(line)
        said = by_text(line, choices) or by_text(line[lead.end() :] if lead else "", choices)
        return said or prose.by_words(text, choices) or prose.by_last_number(text, [*map(plain, choices)])
    if (are_letters(text, letters) and not MARK.search(text)) or (choices and prose.is_listing(text, letters)):
        return None
    mentions = without_reasons(text, mentions)
    is_open = are_alternatives(text, mentions, len(mentions) - 1) or _is_listing(text, mentions[-2:], choices)
    return None if is_open or is_conditional(text, mentions) else mentions[-1][0]


def _is_listing(text: str, mentions: list[tuple[str, int, int]], choices: list[str]) -> bool:
    """Whether two letters that follow each other only repeat the question's choices ('A) cats, B) dogs')."""
    texts = dict(zip(LETTERS, map(plain, choices), strict=False))
    if len(mentions) != 2 or mentions[0][0] == mentions[1][0]:
        return False
    (one, _, begin), (other, end, after) = mentions
    first, second = (plain(part[: 4 * LONGEST_CHOICE].strip(EDGES)) for part in (text[begin:end], text[after:]))
    following = texts.get(other, "")
    return first == texts.get(one) and second.startswith(following) and not second[len(following) :][:1].isalnum()


def _without_denied_texts(text: str, letters: str, choices: list[str]) -> str:
    """Return ``text`` with a choice that it says in full, and that is wrong, as its letter: 'A) Paris. is wrong'."""
    for letter, choice in reversed([*zip(letters, choices, strict=False)]):
        full = choice.rstrip(".\u3002 ")[:LONGEST_CHOICE]
        if full and full in text:
            behind = rf"(?=(?:(?:,| and|, and| or) {LETTER}){{0,8}}{DENIED})"
            text = re.sub(rf"(?<![A-Za-z0-9]){letter}[).:] ?{re.escape(full)}[.\u3002]?{behind}", letter, text)
    return DENIED_TEXT.of(letters).sub(r"\1", text)


def score(response: str, ground_truth: Any, extra: Extra) -> float:
    """Return 1.0 if the response's final answer is the right letter, else 0.0.

    Raises:
        GroundTruthError: the ground truth names no choice.
    """
    right, choices = expected_letter(ground_truth, extra), _choices(extra)
    letters = LETTERS[: len(choices)] or LETTERS[: max(len(USUAL), LETTERS.index(right) + 1)]
    end = wording.with_plain_times(answer.tail(response).translate(FULLWIDTH))
    labels = _labels(extra)
    if not any(map(str.isdecimal, labels)):
        end = ordinals.with_letters_for_numbers(end, letters, choices)
    end = _without_denied_texts(ordinals.lettered(end, letters, choices), letters, choices)
    corrected = _letter(prose.correction(end), letters, [])
    for place in (answer.tagged, answer.boxed, answer.stated):
        text = place(end)
        if text is not None:
            if place is answer.stated and MENU.match(without_denied(end[end.rfind(text) :][:LONGEST_CHOICE], letters)):
                return 0.0
            if place is answer.stated and corrected:
                return float(corrected == right)
            letter = _labelled(text, labels) or _letter(text, letters, choices)
            names = "".join(ANY_LETTER.findall(text))
            if place is answer.boxed and letter is None and text and not names and answer.stated(end) is not None:
                continue  # a result, of which a statement says which choice it is
            if place is answer.stated and letter is None and (not names or (names == letters and len(names) > 2)):
                letter = _last(end[end.rfind(text) + len(text) :], letters, choices)  # 'Answer = 7. Option B is right'
            return float(letter == right)
    return float((_labelled(end, labels) or _last(end, letters, choices)) == right)


def example(ground_truth: Any, extra: Extra) -> str:
    """Return a right answer."""
    return f"The answer is ({expected_letter(ground_truth, extra)})"


RULE = Rule("choice", score, check, example)

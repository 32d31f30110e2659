r"""Multiple choice: the letter of the final answer.

Source: Hendrycks et al. 2021 (MMLU) for the shape; the extraction is the kit's own. In this order: an ``<answer>``
tag, the last ``\boxed{}``, the last 'answer is ...', the last letter that stands alone. Two different letters in
that place are no answer, letters that are said to be wrong and letters beyond the choices are none at all.
"""

import re
from typing import Any

from reward.rules.parsing import answer
from reward.rules.rule import Extra, Rule
from reward.support.errors import GroundTruthError

LETTERS = "ABCDEFGHIJ"
FULLWIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
# Letters that stand alone; CJK characters beside one are no part of a word.
ALONE = re.compile(r"(?<![A-Za-z0-9'\u2019\\.-])([A-J])(?![A-Za-z0-9'\u2019?]|[-.][A-Za-z0-9])")
OPENING = re.compile(
    r"[^A-Za-z0-9]*(?:(?:option|choice|answer|letter) )?\W{0,9}([A-Ja-j])(?:[^\w\s'\u2019?.]|\.(?![A-J](?![a-z ]))|\Z)",
    re.IGNORECASE,
)
LOWER = re.compile(r"\W*(?:(?:option|choice|letter) )?\(?([a-j])\W*", re.IGNORECASE)
CHOSEN = re.compile(r"(?:[故应應]?[选選]择?|选项|選項)[^A-Za-z\n]{0,4}(?=[A-J](?![A-Za-z]))")
# "A bird is ..." and "I think ..." begin with a word, "A is right" and "I would be right" with a letter.
WORD = {
    "A": re.compile(
        r" (?!(?:is|was|are|or|and|because|since|as|would|seems|must|should|makes|has|fits|but|not|nor|for|here|then"
        r"|with|over|looks|it|only)\b)[A-Za-z]"
    ),
    "I": re.compile(r" [a-z]|['\u2019]"),
}
SENTENCE_START = re.compile(r"(?:\A|[.!?\n])[\s\"*_]*\Z")
NAMED = re.compile(
    r"(?:option|choice|answer|letter|is|pick|choose|select|chose|选|選|项|[(\[{*$:=])[ (\[{*:]*\Z", re.IGNORECASE
)
JOINT = re.compile(
    r"[\s,]+\Z|[\s)\]}.*$]*(?:(?:,|/|&|\||\bor\b|\band\b|和|或者?|与|及|、)+\s*)+(?:(?:option|choice|maybe|perhaps|possibly|also|选项)\s*)?[\s(\[{*$]*\Z",
    re.IGNORECASE,
)
LETTER = r"(?:option |choice |answer |选项)?[(\[*]{0,3}[A-J][)\]*]{0,3}(?![A-Za-z0-9'])"
DENIAL = (
    r"(?:\bnot (?:be )?|\bcannot (?:be )?|\bnever |\b(?:any|every)thing but |\ball but |n't (?:be )?"
    r"|\brather than |\binstead of |\bas opposed to |\bexcept |\b(?:rule|rules|ruled|ruling) out "
    r"|\b(?:eliminat|exclud|reject|dismiss)(?:e|es|ed|ing)? |不是|除了|而非|并非|不选|不選|排除|不会是)"
)
DENIED = (
    r",? ?(?:(?:is|are|was|were|can be|looks|seems)(?: (?:clearly|also|both|obviously|all))?"
    r" (?:wrong|incorrect|false|not\b|out\b|ruled out|eliminated|excluded|impossible)"
    r"|(?:is|are|was)n't|cannot|can't|(?:都|显然|是|均)?(?:错|不对|不正确|不是|被排除|不成立))"
)
NEGATED = re.compile(
    rf"{DENIAL}{LETTER}(?:(?:,|/|、| or| and|,? nor|和|或)+ ?{LETTER}){{0,8}}"
    rf"|{LETTER}(?: ?(?:,|、|and|or|和) ?{LETTER}){{0,8}}{DENIED}",
    re.IGNORECASE,
)
MARKUP = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|boldsymbol|bf|rm)(?![A-Za-z])|[{}$*_`\"\u201c\u201d]+")


def _choices(extra: Extra) -> list[str]:
    found = extra.get("choices")
    if isinstance(found, dict):
        found = found.get("text")  # ARC's form
    return [] if found is None else [str(choice).strip() for choice in found]


def wanted(ground_truth: Any, extra: Extra) -> str:
    """Return the right letter; the truth is a letter, an index from 0, or the text of one of ``extra_info.choices``.

    Digits are an index even where the choices are numbers too, as in MMLU, unless the choices bear labels, as in ARC.

    Raises:
        GroundTruthError: it is none of these.
    """
    text, choices = str(ground_truth).strip(), _choices(extra)
    letters = LETTERS[: len(choices) or len(LETTERS)]
    labels = extra["choices"].get("label") if isinstance(extra.get("choices"), dict) else None
    if labels is not None and text in (named := [str(label) for label in labels])[: len(letters)]:
        return LETTERS[named.index(text)]
    letter = text.strip("().").upper()
    if len(letter) == 1 and letter in letters:
        return letter
    if text.isdecimal() and len(text) < 3 and int(text) < len(letters):
        return letters[int(text)]
    if text in choices[: len(LETTERS)]:
        return LETTERS[choices.index(text)]
    raise GroundTruthError(f"ground_truth {text[:80]!r} is no letter, index or text of extra_info.choices")


def check(ground_truth: Any, extra: Extra) -> None:
    """Refuse a ground truth that names no choice."""
    wanted(ground_truth, extra)


def _plain(text: str) -> str:
    """``text`` as two wordings of a choice are compared: without markup, case, and the full stop at its end."""
    return " ".join(MARKUP.sub(" ", text).split()).rstrip(".\u3002 ").casefold()


def _by_text(text: str, choices: list[str]) -> str | None:
    """The letter of the choice that ``text`` says in full, with or without its letter in front."""
    plain = _plain(text)
    for letter, choice in zip(LETTERS, choices, strict=False):
        if plain and plain == _plain(choice):
            return letter
    return None


def _letters(text: str, letters: str) -> list[tuple[str, int, int]]:
    """Letters of choices that stand alone, with their places; no article, no pronoun."""
    found = []
    for match in ALONE.finditer(text):
        letter, before = match[1], text[max(0, match.start() - 12) : match.start()]
        word = letter in WORD and WORD[letter].match(text, match.end()) and not NAMED.search(before)
        if letter in letters and not (word and (letter == "I" or SENTENCE_START.search(before))):
            found.append((match[1], match.start(), match.end()))
    return found


def _joined(text: str, found: list[tuple[str, int, int]], at: int) -> bool:
    """Whether the letter at ``at`` is one of several ('A or B')."""
    pairs = [(found[i - 1], found[i]) for i in (at, at + 1) if 0 < i < len(found)]
    return any(a[0] != b[0] and b[1] - a[2] < 32 and JOINT.match(text[a[2] : b[1]]) for a, b in pairs)


def _letter(text: str, letters: str, choices: list[str]) -> str | None:
    """The one choice that a statement names; None where it names none or several."""
    lower = LOWER.fullmatch(text)
    if lower and lower[1].upper() in letters:
        return lower[1].upper()
    by_text = _by_text(text, choices)
    if by_text:
        return by_text
    text = NEGATED.sub(" ", text)
    found = _letters(text, letters)
    opening = OPENING.match(text)
    if opening and opening[1].upper() in letters:  # "(B) A dog": the letter in front counts, others in its text do not
        letter, end = opening[1].upper(), opening.end(1)
        if _by_text(text[end:].lstrip(" .:,)\u3001"), choices) == letter:
            return letter
        several = any(
            other != letter and (text[begin - 1 : begin] == "(" or text[after : after + 1] in (")", ":"))
            for other, begin, after in found
        )
        rest = [(letter, opening.start(1), end), *(other for other in found if other[1] >= end)]
        return None if several or _joined(text, rest, 0) else letter
    names = {letter for letter, _, _ in found}
    return names.pop() if len(names) == 1 else None


def _last(text: str, letters: str, choices: list[str]) -> str | None:
    """The last letter of a response that states no answer."""
    whole = _letter(text.strip(), letters, choices) if len(text) < answer.LONGEST_STATEMENT else None
    if whole:
        return whole
    text = NEGATED.sub(" ", text)
    chosen = list(CHOSEN.finditer(text))
    found = [each for each in _letters(text, letters) if not chosen or each[1] >= chosen[-1].end()]
    if chosen:
        found = found[:2] if len(found) > 1 and _joined(text, found, 0) else found[:1]
    if not found:
        return _by_text(text.strip().rsplit("\n", 1)[-1], choices)
    return None if _joined(text, found, len(found) - 1) else found[-1][0]


def score(response: str, ground_truth: Any, extra: Extra) -> float:
    """Return 1.0 if the response's final answer is the right letter, else 0.0.

    Raises:
        GroundTruthError: the ground truth names no choice.
    """
    right, choices = wanted(ground_truth, extra), _choices(extra)
    letters = LETTERS[: len(choices) or len(LETTERS)]
    end = answer.tail(response)
    end = end if end.isascii() else end.translate(FULLWIDTH)
    for place in (answer.tagged, answer.boxed, answer.said):
        text = place(end)
        if text is not None:
            return float(_letter(text, letters, choices) == right)
    return float(_last(end, letters, choices) == right)


def example(ground_truth: Any, extra: Extra) -> str:
    """Return a right answer."""
    return f"The answer is ({wanted(ground_truth, extra)})"


RULE = Rule("choice", score, check, example)

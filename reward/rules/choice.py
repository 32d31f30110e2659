r"""Multiple choice: the letter of the final answer.

Source: Hendrycks et al. 2021 (MMLU) for the shape; the extraction is the kit's own. In this order: an ``<answer>``
tag, the last ``\boxed{}``, the last 'answer is ...', the last letter that stands alone. Two different letters in
that place are no answer, letters that are said to be wrong and letters beyond the choices are none at all.
"""

import re
from typing import Any

from reward.rules import rule
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
# 'B is the answer' states it as 'the answer is B' does.
CONFIRMED = re.compile(
    r"(?<![A-Za-z0-9'])([A-J])\)? (?:is|was|must be|would be) (?:(?:the|my|clearly|indeed|only|most|single) ){0,3}"
    r"(?:(?:correct|right|best|final|true|likely) )?(?:answer|choice|option)\b"
    r"|([A-J])(?:选项|选择|项)?[:\uff1a]?(?:才?是)?(?:正确|对的|符合题意)"
)
CORRECTION = re.compile(
    r"(?:\A|[.!?\n])\s{0,9}(?:oh,? |hmm,? |no,? )?(?:wait|actually|correction|on second thought|no)\b[^\w\n]{1,4}"
    r"(?:no[,.] |actually,? )?(?:(?:it's|it is|it should be|i mean|i meant|make it|option) )?([^\n]{0,8})\Z",
    re.IGNORECASE,
)
SIGNED = re.compile(r"\AA ?[:\uff1a]\s*(?=\S)")  # 'A: ', of a prompt with questions and answers
# A lower-case letter counts where words name it: 'b is correct', 'i choose b'.
NAMED_LOWER = re.compile(
    r"\A\W*([a-j])\W? (?:is|was|seems|looks|fits)\b"
    r"|\b(?:is|be|it's|pick|choose|select|chose|with|think|option|choice|letter):? \(?([b-hj]|a(?=\W*\Z))(?![\w'-])",
    re.IGNORECASE,
)
LABELLED = re.compile(r"\W*(?:(?:option|choice|answer) \W*)?(\d{1,2})(?:\W*|\W*[).:,]\s.*)", re.IGNORECASE | re.DOTALL)
EXPLANATION = re.compile(
    r"\n[^\w\n]{0,8}(?:(?:explanation|reason(?:ing|s)?|rationale|justification|the reason|because)\b"
    r"|解析|解释|理由|分析|因为|说明)",
    re.IGNORECASE,
)
SAYS = re.compile(r".*\b(?:is|be|it's)\s", re.DOTALL)
LOWER = re.compile(r"\W*(?:(?:option|choice|letter) )?\(?([a-j])\W*", re.IGNORECASE)
EDGES = " \t\r\n.:,;()-"
LONGEST_CHOICE = 1_024
ANY_LETTER = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
CHOSEN = re.compile(r"(?:[故应應]?[选選]择?|选项|選項)[^A-Za-z\n]{0,4}(?=[A-J](?![A-Za-z]))")
# "A bird is ..." and "I think ..." begin with a word, "A is right" and "I would be right" with a letter.
WORD = {
    "A": re.compile(
        r" (?!(?:is|was|are|or|and|because|since|as|would|seems|must|should|makes|has|fits|but|not|nor|for|here|then"
        r"|with|over|looks|it|only)\b)[A-Za-z]"
    ),
    "I": re.compile(r" (?!(?:is|was|and|or|as|since|over|rather|instead|it is|seems|fits|because)\b)[a-z]|['\u2019]"),
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
    r"|(?<!other) than |\b(?:al)?though |\beven if |\bover |(?:wrong|incorrect) answer (?:is|would be) "
    r"|\b(?:(?:don't|do not) (?:think|believe)|doubt) (?:that )?"
    r"(?:it's |(?:it|the (?:[a-z]{1,12} )?answer) (?:is|be) )?"
    r"|不(?:认为|觉得)(?:正确)?(?:答案)?(?:是|选)|(?:错误|不正确)的?答案是"
    r"|\binstead of |\bas opposed to |\bexcept |\b(?:rule|rules|ruled|ruling) out "
    r"|\b(?:eliminat|exclud|reject|dismiss)(?:e|es|ed|ing)? "
    r"|(?:不|没有?)(?:应该|应当|应|会|能|可能|可以|可|要|该|太可能)?(?:是|选择?|選擇?)|除了?|而非|并非|排除)"
)
DENIED = (
    r"(?: ?[:\uff1a] ?(?:wrong|incorrect|false|no|错误?|不对)(?!\w)"
    r"|,? ?(?:(?:is|are|was|were|can be|looks|seems)(?: (?:clearly|also|both|obviously|all))?"
    r" (?:(?:an? |the )?(?:wrong|incorrect|false)|not\b|out\b|ruled out|eliminated|excluded|impossible)"
    r"|(?:is|are|was)n't|cannot|can't"
    r"|(?:这个)?(?:选项|項|项)?(?:都|显然|是|均|也)*(?:错|不选(?![A-J])|不对|不正确|不是|不符|不成立|不合|有误|(?:被|可以?|应该?|先)*排除)))"
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


def _labels(extra: Extra) -> list[str]:
    found = extra.get("choices")
    return [str(label) for label in found.get("label", ())] if isinstance(found, dict) else []


def wanted(ground_truth: Any, extra: Extra) -> str:
    """Return the right letter; the truth is a letter, an index from 0, or the text of one of ``extra_info.choices``.

    Digits are an index even where the choices are numbers too, as in MMLU, unless the choices bear labels, as in ARC.

    Raises:
        GroundTruthError: it is none of these.
    """
    text, choices = rule.text(ground_truth).strip().translate(FULLWIDTH), _choices(extra)
    letters = LETTERS[: len(choices) or len(LETTERS)]
    if text in (labels := _labels(extra))[: len(letters)]:
        return LETTERS[labels.index(text)]
    letter = text.strip("().").upper()
    if len(letter) == 1 and letter in letters:
        return letter
    if text.isdecimal() and len(text) < 3 and int(text) < len(letters):
        return letters[int(text)]
    if text in choices[: len(LETTERS)]:
        return LETTERS[choices.index(text)]
    if named := _by_text(text, choices) or _opening(text, letters, choices):
        return named
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


def _opening(text: str, letters: str, choices: list[str]) -> str | None:
    """The letter that ``text`` begins with, where the choice's text follows it."""
    opening = OPENING.match(text)
    letter = opening[1].upper() if opening else ""
    if not opening or letter not in letters:
        return None
    return letter if _by_text(text[opening.end(1) :].lstrip(" .:,)\u3001"), choices) == letter else None


def _letters(text: str, letters: str) -> list[tuple[str, int, int]]:
    """Letters of choices that stand alone, with their places; no article, no pronoun."""
    found = []
    for match in ALONE.finditer(text):
        letter, before = match[1], text[max(0, match.start() - 12) : match.start()]
        word = letter in WORD and WORD[letter].match(text, match.end()) and not NAMED.search(before)
        if letter in letters and not (word and (letter == "I" or SENTENCE_START.search(before))):
            found.append((match[1], match.start(), match.end()))
    return found


def _labelled(text: str, labels: list[str]) -> str | None:
    """The letter of the label, a number as ARC has them, that ``text`` begins with."""
    found = LABELLED.fullmatch(text.strip())
    return LETTERS[labels.index(found[1])] if found and found[1] in labels[: len(LETTERS)] else None


def _joined(text: str, found: list[tuple[str, int, int]], at: int) -> bool:
    """Whether the letter at ``at`` is one of several ('A or B')."""
    pairs = [(found[i - 1], found[i]) for i in (at, at + 1) if 0 < i < len(found)]
    return any(a[0] != b[0] and b[1] - a[2] < 32 and JOINT.match(text[a[2] : b[1]]) for a, b in pairs)


def _letter(text: str, letters: str, choices: list[str]) -> str | None:
    """The one choice that a statement names; None where it names none or several."""
    lower = LOWER.fullmatch(_plain(text))
    if lower and lower[1].upper() in letters:
        return lower[1].upper()
    lead = SAYS.match(text)
    for part in (text, text[lead.end() :] if lead else ""):  # 'It is A cat.' may be a choice's text
        if not LOWER.fullmatch(part) and (by_text := _by_text(part, choices)):
            return by_text
    text = NEGATED.sub(" ", text)
    found = _letters(text, letters)
    names = set(re.findall(r"\w+", text))
    if len(names) > 1 and names <= set(letters):
        return None
    opening = OPENING.match(text)
    if opening and opening[1].upper() in letters:  # "(B) A dog": the letter in front counts, others in its text do not
        letter, end = opening[1].upper(), opening.end(1)
        if _opening(text, letters, choices) == letter:
            return letter
        several = _is_listing(text, found[:2], choices) or any(
            other != letter and (text[begin - 1 : begin] == "(" or text[after : after + 1] in (")", ":"))
            for other, begin, after in found
        )
        rest = [(letter, opening.start(1), end), *(other for other in found if other[1] >= end)]
        return None if several or _joined(text, rest, 0) else letter
    names = {letter for letter, _, _ in found} or _named_lower(text, letters)
    return names.pop() if len(names) == 1 else None


def _named_lower(text: str, letters: str) -> set[str]:
    found = [(match[1] or match[2]).upper() for match in NAMED_LOWER.finditer(text)]
    return {letter for letter in found[-1:] if letter in letters}


def _last(text: str, letters: str, choices: list[str]) -> str | None:
    """The last letter of a response that states no answer."""
    correction = CORRECTION.search(text[-64:])
    if correction and (corrected := _letter(correction[1], letters, [])):
        return corrected
    signed = SIGNED.sub("", text.strip())
    text = signed if LOWER.fullmatch(signed) else text
    head = EXPLANATION.split(text.strip(), maxsplit=1)[0]
    for part in dict.fromkeys((text.strip(), head if "\n" not in head.strip() else "")):
        if part and len(part) < answer.LONGEST_STATEMENT and (whole := _letter(part, letters, choices)):
            return whole
    text = NEGATED.sub(" ", text)
    confirmed = {match[1] or match[2] for match in CONFIRMED.finditer(text)} & set(letters)
    if len(confirmed) == 1:
        return confirmed.pop()
    chosen = list(CHOSEN.finditer(text))
    found = [each for each in _letters(text, letters) if not chosen or each[1] >= chosen[-1].end()]
    if chosen:
        found = found[:2] if len(found) > 1 and _joined(text, found, 0) else found[:1]
    if not found:
        line = text.strip().rsplit("\n", 1)[-1]
        lead = SAYS.match(line)
        return _by_text(line, choices) or _by_text(line[lead.end() :] if lead else "", choices)
    return None if _joined(text, found, len(found) - 1) or _is_listing(text, found[-2:], choices) else found[-1][0]


def _is_listing(text: str, found: list[tuple[str, int, int]], choices: list[str]) -> bool:
    """Whether two letters that follow each other only repeat the question's choices ('A) cats, B) dogs')."""
    texts = dict(zip(LETTERS, map(_plain, choices), strict=False))
    if len(found) != 2 or found[0][0] == found[1][0]:
        return False
    (one, _, begin), (other, end, after) = found
    first, second = (_plain(part[: 4 * LONGEST_CHOICE].strip(EDGES)) for part in (text[begin:end], text[after:]))
    following = texts.get(other, "")
    return first == texts.get(one) and second.startswith(following) and not second[len(following) :][:1].isalnum()


def score(response: str, ground_truth: Any, extra: Extra) -> float:
    """Return 1.0 if the response's final answer is the right letter, else 0.0.

    Raises:
        GroundTruthError: the ground truth names no choice.
    """
    right, choices = wanted(ground_truth, extra), _choices(extra)
    letters = LETTERS[: len(choices) or len(LETTERS)]
    end = answer.tail(response)
    end = end if end.isascii() else end.translate(FULLWIDTH)
    labels, correction = _labels(extra), CORRECTION.search(end[-64:])
    for place in (answer.tagged, answer.boxed, answer.said):
        text = place(end)
        if text is not None:
            if place is answer.said and correction and (corrected := _letter(correction[1], letters, [])):
                return float(corrected == right)
            found = _labelled(text, labels) or _letter(text, letters, choices)
            if place is answer.said and found is None and not ANY_LETTER.search(text):
                found = _last(end[end.rfind(text) + len(text) :], letters, choices)  # 'Answer = 7. Option B is right'
            return float(found == right)
    return float((_labelled(end, labels) or _last(end, letters, choices)) == right)


def example(ground_truth: Any, extra: Extra) -> str:
    """Return a right answer."""
    return f"The answer is ({wanted(ground_truth, extra)})"


RULE = Rule("choice", score, check, example)

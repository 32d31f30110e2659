"""The number that the last sentence of a response is about, which is not always its last one.

'= $25 for selling 14 peaches' is 25, '45 miles from home after 4 hours' 45. Of GSM8K's 8,792 solutions without their
mark 97.2 % are right by the last number, and 99.2 % by this one.
"""

import itertools
import re

from reward.rules import number
from reward.rules.parsing import answer

# What stands behind the number that a sentence is about: '= $25 for selling 14 peaches', '45 miles in 4 hours'.
SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])")
IN_BRACKETS = re.compile(r"(?<=[A-Za-z.,%\d]) \((?=[^()]*\d)[^()]*\)")
PREPOSITION = (
    r"\b(?:in|for|of|after|at|to|from|on|over|per|within|during|by|with|around|through|before|than|because|every|each|if"
    r"|when|until)\b"
)
CLAUSE = r"\b(?:which|so|meaning|and|is|are|was|were|we|he|she|they|it|or|not|have|has)\b"
AFTER_RESULT = re.compile(rf"(?:(?!{CLAUSE})[A-Za-z '%/*-])*?(?={PREPOSITION})")
CIRCUMSTANCE = re.compile(rf"(?:(?!{CLAUSE})[A-Za-z '%/-])*{PREPOSITION} (?:[A-Za-z']+ ){{0,3}}\$?")
NO_SUBJECT = re.compile(
    r"\b(?:the|those|these|all|every|each|other|first|last|no|than|day|step)\s+\$?\Z|\A\W*\Z", re.IGNORECASE
)
REASON = re.compile(
    r"(?<=[\w%)]),? (?:because|since|round(?:ing|ed) (?:up |down |off )?from|versus|vs|compared (?:to|with)"
    r"|as opposed to|instead of|rather than|up from|down from)\b"
    r"|(?<=\w), who (?:only )?(?:has|had|have|is|was|were)\b(?=[^=]*\Z)"
)
OUT_OF = re.compile(r" out of (?:the |those |all |his |her |their )?\$?")
OR = re.compile(r"\d[^\d=.!?]*\bor (?!more\b|less\b|fewer\b|so\b)[^=]*\d")
# '12 200-kilobyte videos', '10 $10 bills', '26 years old 10 years from now': the second number only says which or when.
KIND = re.compile(r"(?<=\d )(?:more )?(?:\d+(?= ?-[a-z]{2})|\$\d+(?= (?:bill|coin|note)))")
WHEN = re.compile(
    r"(?<=[a-z]) (?:in )?\d+ (?:years?|months?|weeks?|days?|hours?) (?:from now|later|ago|earlier|hence)\b"
)
CHECKING = re.compile(
    r"\n[ \t*#_>(]{0,8}(?:(?:quick|now,?|let me|let's|to) )?(?:double[- ]?)?(?:check|verif|sanity)[^\n]*(?:\n.*)?\Z"
    r"|\n[ \t*#_>(]{0,8}(?:验算|检验|检查|验证)[\uff1a:].*\Z",
    re.IGNORECASE | re.DOTALL,
)
CONCLUSION = re.compile(
    r"\n[ \t*#_>]{0,8}(?:so|therefore|thus|hence|final|in total|altogether|answer)\b|\n\W{0,8}(?:所以|因此|答)",
    re.IGNORECASE,
)


def main_part(text: str) -> str:
    """Return a text up to the number that its last sentence is about, where a later one only says of what or when.

    '8 * 3 = $24 for the 6 books' ends behind 24, and 'He is 45 miles away after 4 hours' behind 45. Of a text that
    ends in a check of its result, what stands before it is read; one that ends in a refusal is about no number.
    """
    if (check := CHECKING.search(text[-number.LONGEST :])) and not CONCLUSION.search(check[0], 1):
        begin = max(0, len(text) - number.LONGEST) + check.start()
        text = text[:begin] if number.UP_TO_LAST_DIGIT.match(text, 0, begin) else text
    start, sentence = _last_sentence(text)
    if answer.is_refusal(text, max(0, start - number.WINDOW)):
        return ""
    sentence = KIND.sub("", answer.ROUNDED.sub("", sentence))
    dated = WHEN.sub("", sentence)
    sentence = dated if number.UP_TO_LAST_DIGIT.match(dated) else sentence
    reason = REASON.search(sentence)
    if reason and number.UP_TO_LAST_DIGIT.match(sentence, 0, reason.start()):
        sentence = sentence[: reason.start()]
    whole = IN_BRACKETS.sub("", sentence)
    sentence = whole if number.UP_TO_LAST_DIGIT.match(whole) else sentence
    plain = number.ascii_text(sentence)
    _, equals, result = plain.rpartition("=")
    if equals:
        first = number.NUMBER.search(result)
        if first and not result[: first.start()].strip(" $*(") and (rest := AFTER_RESULT.match(result, first.end())):
            return f"{equals} {result[: rest.end()]}"
        return text[:start] + sentence
    if OR.search(plain):
        return ""
    numbers = list(itertools.islice(number.NUMBER.finditer(plain), 3))
    if len(numbers) == 2 and OUT_OF.fullmatch(plain, numbers[0].end(), numbers[1].start()):
        return plain[: numbers[0].end()]
    if len(numbers) == 2 and not NO_SUBJECT.search(plain, 0, numbers[0].start()):  # noqa: SIM102
        if CIRCUMSTANCE.fullmatch(plain, numbers[0].end(), numbers[1].start()):
            rest = AFTER_RESULT.match(plain, numbers[0].end())
            return plain[: rest.end() if rest else numbers[0].end()]
    return text[:start] + sentence


def _last_sentence(text: str) -> tuple[int, str]:
    """Where the last sentence of the last line that has a digit begins, and the sentence."""
    end = number.UP_TO_LAST_DIGIT.match(text[-number.LONGEST :])
    if end is None:
        return len(text), ""
    last = max(0, len(text) - number.LONGEST) + end.end()
    begin = max(text.rfind("\n", 0, last) + 1, last - 4 * number.WINDOW)
    for stop in SENTENCE.finditer(text, begin, last):
        begin = stop.end()
    close = text.find("\n", last)
    return begin, text[begin : close if close >= 0 else len(text)]

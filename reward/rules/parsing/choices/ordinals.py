"""A choice by its place: 'the second option' is B."""

import re

from reward.rules.parsing.choices.letters import lone_letters

FIRST = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
CHINESE = "一二三四五六七八九十"
ORDINALS = "|".join(FIRST)
CHOOSING = (
    r"(?:\A|\n|(?:\banswer(?: is|:)|\b(?:it|that)(?:'s| is| must be)"
    r"|\b(?:choose|chose|pick|select|go with|say|thus|so)),?)"
)
ENDING = (
    r"(?=[\s*_.!\"']*(?:\Z|\n|(?:is|seems|looks) (?:\w+ )?(?:right|correct|best|true)\b"
    r"|,? (?:because|since|as)\b))"
)
ORDINAL = re.compile(
    rf"\b(?:the )?(?P<option>{ORDINALS}|last|final) (?:answer )?option\b(?!,? \(?[A-J]\b)"
    rf"|(?P<before>{CHOOSING}[\s*_\"']{{0,4}})(?:the )?(?P<one>{ORDINALS}|last) (?:one|choice)\b{ENDING}"
    rf"|\b(?:the )?(?P<right>{ORDINALS}|last) (?:one|choice) (?=is (?:the )?(?:right|correct)\b)",
    re.IGNORECASE,
)
ORDINAL_CHINESE = re.compile(
    rf"(?P<before>(?:\A|[选選是为為:\uff1a]) ?)(?:第(?P<place>[{CHINESE}])|最后一)(?:个|個|项|項)"
    r"(?:选项|選項|答案)?(?=[\s。.!\uff01]*(?:\Z|\n|(?:是)?(?:正确|对的)))"
    rf"|(?:第(?P<option>[{CHINESE}])|最后一)(?:个|個)(?:选项|選項)"
)
# 'the first or second option'
SEVERAL = re.compile(
    rf"\b(?:{ORDINALS})(?: (?:option|one|choice))?,? (?:or|nor|and) (?:the )?(?:{ORDINALS}|last)\b"
    rf"|第[{CHINESE}](?:个|個|项|項)?(?:选项|選項)?(?:或|和|与)第?[{CHINESE}]",
    re.IGNORECASE,
)

NUMBERED = re.compile(
    r"\b(?:option|choice)(?: number| no\.)? ?[#(]?(\d{1,2})\)?(?![\w%]|[.,:/-]\d)|选项[ :\uff1a]?(\d{1,2})(?![\d.%])"
    r"|第(\d{1,2})[个個项項](?:选项|選項|答案)?",
    re.IGNORECASE,
)


def with_letters_for_numbers(text: str, letters: str, choices: list[str]) -> str:
    """Return ``text`` with letters for 'option 3', where no letter stands in it and no choice has that number."""
    if not choices or lone_letters(text, letters):
        return text

    def letter(match: re.Match[str]) -> str:
        place = next(filter(None, match.groups()))
        is_value = any(re.search(rf"(?<!\d){place}(?!\d)", choice) for choice in choices)
        return match[0] if is_value or not 0 < int(place) <= len(letters) else f"option {letters[int(place) - 1]}"

    return NUMBERED.sub(letter, text)


def lettered(text: str, letters: str, choices: list[str]) -> str:
    """Return ``text`` with the letters of the choices that it names by their place; others stay.

    A text that has letters as well names by them.
    """
    if (
        lone_letters(text, letters)
        or SEVERAL.search(text)
        or any(ORDINAL.search(choice) or ORDINAL_CHINESE.search(choice) for choice in choices)
    ):
        return text

    def letter(match: re.Match[str], index: int) -> str:
        if index >= len(letters) or (index < 0 and not choices):
            return match[0]
        return f"{match['before'] or ''}option {letters[index]} "

    def english(match: re.Match[str]) -> str:
        place = (match["option"] or match["one"] or match["right"]).lower()
        return letter(match, FIRST.index(place) if place in FIRST else -1).rstrip() + " " * match[0].endswith(" ")

    def chinese(match: re.Match[str]) -> str:
        place = match["place"] or match["option"]
        return letter(match, CHINESE.index(place) if place else -1).rstrip()

    return ORDINAL_CHINESE.sub(chinese, ORDINAL.sub(english, text))

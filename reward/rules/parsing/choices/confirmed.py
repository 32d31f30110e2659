"""Which letter of a text is said to be right."""

import re

from reward.rules.parsing.choices.letters import LetterPattern, are_alternatives, lone_letters

# 'B is the answer' states it as 'the answer is B' does.
CONFIRMED = LetterPattern(
    r"(?<![A-Za-z0-9'])([A-J])\)? (?:is|was|must be|would be) (?:(?:the|my|clearly|indeed|only|most|single) ){0,3}"
    r"(?:(?:correct|right|best|final|true|likely|viable) )?(?:answer|choice|option)\b"
    r"|\b(?:correct|right|true|best) (?:statement|option|choice|one|conclusion|letter|response) (?:is|would be|must be)"
    r" (?:(?:therefore|thus|indeed|clearly|option|choice|letter) ){0,2}[(\[*\"]{0,3}([A-J])(?![A-Za-z0-9'])"
    r"|(?<![A-Za-z0-9'])([A-J])\? (?:Yes|Correct|Right)\b"
    r"|([A-J])(?:选项|选择|项)?[:\uff1a]?(?:才?是)?(?:正确|对的|符合题意)"
    r"|(?<!不)正确的?(?:选项|答案)?(?:应该?|应当)?是 ?([A-J])(?![A-Za-z])"
    r"|(?<![A-Za-z0-9'])([A-J])\)? (?:alone )?(?:remains|is left)(?=[.,;!\n]|\s*\Z)"
    r"|\bleaves (?:us with )?(?:option |choice )?\(?([A-J])\)? as the only\b"
)
# So do 'B is correct' and 'I'd say B', where nothing after them turns the text or draws a conclusion.
ASSERTED = LetterPattern(
    r"(?<![A-Za-z0-9'])([A-J])\)? (?:is|seems|must be) (?:(?:clearly|indeed|the|most) ){0,2}"
    r"(?:correct|right|best|true)(?=[.,;!\n]|\s*\Z"
    r"| (?:because|since|and|while|as|though)\b)"
    r"|\b[Ii](?:'d| would|'ll| will|'m| am)? (?:pick|choose|select|say|go with|going with|answer) "
    r"(?:option |choice |answer |letter )?[(\[*\"]{0,3}([A-J])(?![A-Za-z0-9'?])"
)
TURN = re.compile(
    r"\b(?:but|however|yet|wait|actually|no|so|thus|hence|therefore|instead|then|finally|or|if|otherwise|answer"
    r"|again)\b"
    r"|但|所以|因此|不过|然而|故|或",
    re.IGNORECASE,
)
# A verdict on each choice: 'B - incorrect', '(C) True.', 'D) Paris ✓'; a choice may itself be 'True'.
VERDICT = LetterPattern(
    r"(?<![A-Za-z0-9])\(?([A-J])\)?"
    r"(?:[.):](?: (?:(?!(?<![A-Za-z0-9])[A-J][.):])[^\n\u2713-\u2718\u2705\u274c]){1,80}?)??)? ?[-:(\u2013\u2014]? ?"
    r"(?i:((?:is )?(?:correct|true|right)|[\u2713\u2714\u2705])"
    r"|(?:is )?(?:incorrect|false|wrong)|[\u2717\u2718\u274c\u00d7])(?=[.;)]?(?:\s|\Z))"
)
FIRST_CELL = re.compile(r"^ ?\| ?\**\(?([A-Z])\)?\** ?\| ?", re.MULTILINE)  # of a row of a table
CELL = re.compile(r" ?\| ?")
LAST_CELL = re.compile(r"(?<= - )(yes|no)(?=[ -]*$)", re.IGNORECASE | re.MULTILINE)
WORD_OF_VERDICT = re.compile(r"(?:correct|true|right|incorrect|false|wrong)\W*", re.IGNORECASE)


def confirmed(text: str, letters: str) -> str | None:
    """Return the one letter that a text says is the answer."""
    named = {next(filter(None, match.groups())) for match in CONFIRMED.of(letters).finditer(text)} & set(letters)
    return named.pop() if len(named) == 1 else None


def asserted(text: str, letters: str) -> str | None:
    """Return the one letter that the end of a text says is right, or that its writer picks."""
    mentions = lone_letters(text, letters)
    turn = max((match.end() for match in TURN.finditer(text)), default=0)
    places = [(match.start(1) if match[1] else match.start(2)) for match in ASSERTED.of(letters).finditer(text, turn)]
    at = [index for index, mention in enumerate(mentions) if mention[1] in places]
    named = {mentions[index][0] for index in at}
    return named.pop() if len(named) == 1 and not any(are_alternatives(text, mentions, i) for i in at) else None


def by_verdicts(text: str, letters: str, choices: list[str]) -> str | None:
    """Return the one right choice of a text that judges two of them, or three where their texts are not known."""
    if any(WORD_OF_VERDICT.fullmatch(choice) for choice in choices):
        return None
    if "|" in text:
        text = CELL.sub(" - ", FIRST_CELL.sub(r"\1: ", text))
        text = LAST_CELL.sub(lambda cell: "correct" if cell[1].lower() == "yes" else "wrong", text)
    verdicts = [(match[1].upper(), bool(match[2])) for match in VERDICT.of(letters).finditer(text)]
    right = [letter for letter, is_right in verdicts if is_right]
    return right[0] if len(right) == 1 and len(verdicts) == len(dict(verdicts)) > 2 - bool(choices) else None


def are_undecided(text: str, letters: str) -> bool:
    """Return whether a text ends in verdicts on all its choices, of which none, or several, are right."""
    verdicts = list(VERDICT.of(letters).finditer(text))
    right = [match[1] for match in verdicts if match[2]]
    names = "".join(match[1].upper() for match in verdicts)
    return names == letters and len(right) != 1 and not lone_letters(text[verdicts[-1].end() :], letters)

"""The one choice of a list that bears a check mark."""

import re

from reward.rules.parsing.choices.letters import LetterPattern

MARK = re.compile("[\u2713\u2714\u2705\u2611\u221a]|\\\\checkmark(?![A-Za-z])")
FEWEST = 3  # lines, where it is not known how many choices there are
LINE = LetterPattern(
    r"^[ \t*_>#(\[\u2022\u2713\u2714\u2705\u2611\u274c\u2717\u2718\ufe0f-]{0,12}(?:(?:option"
    r"|choice) )?\(?([A-J])[*_]{0,2}[).:\u3001\uff0e\uff1a]"
    r"(?!\w)[^\n]{0,400}$",
    re.MULTILINE | re.IGNORECASE,
)


def by_mark(text: str, letters: str) -> str | None:
    """Return the letter of the one line with a check mark, where the lines go through all choices once."""
    lines = [(match[1].upper(), bool(MARK.search(match[0]))) for match in LINE.of(letters).finditer(text)]
    names = "".join(letter for letter, _ in lines)
    checked = [letter for letter, is_checked in lines if is_checked]
    is_whole = names == letters or (len(names) >= FEWEST and letters.startswith(names))
    return checked[0] if len(checked) == 1 and is_whole else None

"""What a list of all choices says: the one that bears a check mark, the text behind the list."""

import re

from reward.rules.parsing.choices.letters import LetterPattern

MARK = re.compile(r"[\u2713\u2714\u2705\u2611]|\u221a(?=[\s*_)]*\Z)|\\checkmark(?![A-Za-z])|^[ \t]{0,6}[-*] \[[xX]\]")
FEWEST = 3  # lines, where it is not known how many choices there are
LINE = LetterPattern(
    r"^[ \t*_>#(\[\u2022\u2713\u2714\u2705\u2611\u274c\u2717\u2718\ufe0f-]{0,12}(?:\[[ xX]\] )?(?:(?:option"
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


def behind_list(text: str, letters: str) -> str:
    """Return what follows lines that go through all choices; "" where nothing does, or there are no such lines."""
    lines = list(LINE.of(letters).finditer(text))
    return text[lines[-1].end() :].strip() if "".join(line[1].upper() for line in lines) == letters else ""

"""How the words of a choice and of a response are compared."""

import re

from reward.rules.parsing.choices import prose
from reward.rules.parsing.choices.letters import LETTERS

MARKUP = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|boldsymbol|bf|rm)(?![A-Za-z])|[{}$*_`\"\u201c\u201d]+")
AM_PM = re.compile(r"(?<=\d) ?([ap])(?:m|\. ?m\.?)(?![A-Za-z])", re.IGNORECASE)
# 'Both A and B are correct.' says the choice 'Both A and B'.
VERDICT = re.compile(r" (?:are|is)(?: (?:all|both))? (?:correct|right|true|valid)|(?:都|均)?(?:是)?(?:正确|对)的?")


def with_plain_times(text: str) -> str:
    """Return '11:30 a.m.' as '11:30 am'."""
    return AM_PM.sub(lambda at: f" {at[1].lower()}m", text)


def plain(text: str) -> str:
    """Return ``text`` as two wordings are compared: without markup, case, and the full stop at its end."""
    return " ".join(MARKUP.sub(" ", text).split()).rstrip(".\u3002 ").casefold()


def by_text(text: str, choices: list[str]) -> str | None:
    """Return the letter of the choice that ``text`` says in full."""
    given, known = plain(text), [*map(plain, choices)]
    for words in (given, _without_verdict(given)):
        if words and words in known[: len(LETTERS)]:
            return LETTERS[known.index(words)]
    return prose.by_amount(given, known)


def _without_verdict(given: str) -> str:
    """What a text says is right, or "" where it says that of nothing."""
    verdict = VERDICT.search(given)
    return given[: verdict.start()] if verdict and verdict.end() == len(given) else ""

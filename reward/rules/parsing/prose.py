"""A choice that a response says in words and without its letter: 'Venus is the hottest planet' is B."""

import re

SENTENCE = re.compile(r"(?<=[.!?\u3002])\s+|\n+")
POLAR = frozenset(("yes", "no", "true", "false"))
SHORTEST = 3  # letters of a choice that is looked for
DENIED_BEFORE = re.compile(
    r"(?:\bnot|n['\u2019]t|\bno|\bnever|\bunlike|\bthan|\binstead of|\brather than|\bneither|\bnor|\bexcept|\bwithout"
    r"|\bcompared (?:to|with)|\bas opposed to)(?: (?:the|an?|[a-z]{2,9}))? ?\Z",
    re.IGNORECASE,
)
# The choice ends its sentence, or what follows denies another or gives a reason; or it begins the sentence.
AFTER = re.compile(r"[\s.!*_\"]*\Z|,? (?:not|because|since|as|rather than|instead of|and not)\b")
BEFORE = re.compile(r"\W*(?:(?:so|thus|hence|therefore),? )?(?:(?:the|an?) )?\Z", re.IGNORECASE)
VERB = re.compile(r"[*_\"]* (?:is|are|was|were|has|have|had|does|do)(?! (?:not|wrong|incorrect|false|the wrong))\b")
LABEL = re.compile(r"^[ \t*_(]{0,6}([A-Z])[.):\u3001\uff0e\uff1a][*_ ]", re.MULTILINE)


def by_words(text: str, choices: list[str]) -> str | None:
    """Return the letter of the one choice that the last sentence of ``text`` says, undenied, where an answer stands.

    'Yes' and 'no' begin the whole text instead.
    """
    names = {chr(ord("A") + index): " ".join(choice.split()).rstrip(".") for index, choice in enumerate(choices)}
    if {name.casefold() for name in names.values()} <= POLAR:
        opening = re.match(r"[\s*_\"]{0,8}(\w+)[*_\"]{0,4}[,.;!]", text)
        polar = [letter for letter, name in names.items() if opening and name.casefold() == opening[1].casefold()]
        others = sum(len(re.findall(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)) for name in names.values())
        return polar[0] if polar and others == 1 else None
    sentences = [part for part in SENTENCE.split(text.strip()[-1024:]) if part.strip()]
    if not sentences:
        return None
    sentence = sentences[-1]
    spans = {
        letter: [m.span() for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE)]
        for letter, name in names.items()
        if sum(map(str.isalpha, name)) >= SHORTEST
    }
    said = [
        (letter, span)
        for letter, places in spans.items()
        for span in places
        if not DENIED_BEFORE.search(sentence[max(0, span[0] - 24) : span[0]])
        and not any(
            other != letter and begin <= span[0] and span[1] <= end and (begin, end) != span
            for other, others in spans.items()
            for begin, end in others
        )
    ]
    if len(said) != 1:
        return None
    letter, (begin, end) = said[0]
    ends, begins = AFTER.match(sentence, end), BEFORE.fullmatch(sentence[:begin]) and VERB.match(sentence, end)
    return letter if ends or begins else None


def is_listing(text: str, letters: str) -> bool:
    """Whether the last lines of a text go through all choices, one a line, and say no more."""
    labels = list(LABEL.finditer(text))
    last = labels[-len(letters) :]
    return (
        len(letters) > 2
        and "".join(label[1] for label in last) == letters
        and "\n" not in text[last[-1].end() :].strip()
    )

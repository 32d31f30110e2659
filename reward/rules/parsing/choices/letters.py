"""Which letters of a text name choices: no article, no pronoun, nothing that is said to be wrong."""

import re

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
USUAL = LETTERS[:10]  # of a question whose choices are not known


class LetterPattern:
    """A pattern in which ``A-J`` stands for the letters of choices; those beyond J are read where there are as many."""

    def __init__(self, source: str, flags: int = 0) -> None:
        wide = source.replace("A-J", "A-Z").replace("a-j", "a-z").replace("b-hj", "b-hj-z")
        self._patterns = re.compile(source, flags), re.compile(wide, flags)

    def of(self, letters: str) -> re.Pattern[str]:
        """Return the pattern for a question with these choices."""
        return self._patterns[len(letters) > len(USUAL)]


FULLWIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
# Letters that stand alone; CJK characters beside one are no part of a word.
ALONE = LetterPattern(
    r"(?<![A-Za-z0-9'\u2019\\.-])([A-J])(?![A-Za-z0-9'\u2019?]|[-.][A-Za-z0-9]|[-+]\])"
    r"|(?<=[ :(]['\u2018])([A-J])(?=['\u2019](?![A-Za-z0-9]))"
)
# A lower-case letter counts where words name it: 'b is correct', 'i choose b'.
NAMED_LOWER = LetterPattern(
    r"\A\W*([a-j])\W? (?:is|was|seems|looks|fits)\b"
    r"|\b(?:is|be|it's|pick|choose|select|chose|with|think|option|choice|letter):? \(?([b-hj]|[ai](?=\W*\Z))(?![\w'-])",
    re.IGNORECASE,
)
# "A bird is ..." and "I think ..." begin with a word, "A is right" and "I would be right" with a letter.
WORD = {
    "A": re.compile(
        r" (?!(?:is|was|are|or|and|because|since|as|would|seems|must|should|makes|has|fits|but|not|nor|for|here|then"
        r"|does|follows|fails|satisfies|contradicts|describes|meets|gives|states"
        r"|with|over|looks|it|only|remains|stays|wins|works|holds|beats|applies|matches"
        r"|if|unless|when|otherwise|in the)\b)[A-Za-z]"
    ),
    "I": re.compile(
        r" (?!(?:is|are|was|and|or|as|since|over|rather|instead|it is|seems|fits|because|remains|wins"
        r"|follows|fails|satisfies|contradicts|describes|meets|gives|states"
        r"|if|otherwise|when|unless|in the|works|matches|does|holds|makes|has|applies|stays|beats|most)\b)[a-z]"
        r"|['\u2019]"
    ),
}
# In a formula a letter is a name ('$P(A \cap T)$', 'C = 3.3'), unless it is all of it ('$B$').
FORMULA = re.compile(
    r"\$\$([^$]{1,2000})\$\$|\$([^$\n]{1,400})\$|\\\(((?:(?!\\[()]).){1,400})\\\)|\\\[((?:(?!\\[\[\]]).){1,2000})\\\]",
    re.DOTALL,
)
LONE = LetterPattern(r"(?:\\(?:text|textbf|mathrm|mathbf|boxed)(?![a-z])|[\s{}().])*([A-J])[\s{}().]*")
LINE_END = re.compile(r"[)}$*_ ]*[.!\u3002\uff01]?[*_ ]*(?:\n|\Z)")
NAME_BEFORE = re.compile(
    r"(?:[_^\}]\{|[+^_\u2229\u222a\u00d7\u221a\u222b\u2211\u2206\u2264\u2265\u00b0] ?"
    r"|\\(?!(?:f?box(?:ed)?|text|mbox|math|bold|rm|bf))[a-z]{2,9}[ {(]|[a-z]\(|\bP\(|\d ?[-*/]? ?"
    r"|\bsolv(?:e|es|ed|ing) for |\$"
    r"|\b(?:vitamin|hepatitis|influenza|type|group|class|grade|plan|points?|array|matrix|matrices|sets?|events?|blocks?"
    r"|player|person|company|country|firm|vertex|angle|vector|factor|variable|protein|antigen|allele|gene|phase|part"
    r"|figure|schedule|section|article|product|states?|system|theory|model|case|triangle|radius|side|line|node|register"
    r"|(?<!answer )(?<!choice )(?<!option )(?<!letter )of) \(?)\Z",
    re.IGNORECASE,
)
NAME_AFTER = re.compile(
    r" ?(?:=|\u2248) ?(?:[-\d($\\.]|[A-Za-z]\b(?! ?[.)])|[a-z]{2})| ?[+^_<>\u2229\u222a\u00d7\u2264\u2265]"
    r"|\((?![a-z ]{3})| ?/ ?[\dK-Z(]| ?\\(?:cap|cup|cdot|times|leq?|geq?|to|in)\b"
)
DEFINED_BEFORE = re.compile(r"(?:\b(?:where|let|and|with)|,) \Z", re.IGNORECASE)
DEFINED_AFTER = re.compile(
    r" (?:is|be|are|denotes?|represents?) (?:the |an? )?"
    r"(?!(?:\w+ ){0,2}(?:correct|right|best|answer|choice|option|one)\b)"
)
# There, and behind a choice's letter ('C) A cat'), a word begins.
BEHIND_LABEL = re.compile(r"\b[A-Z](?:[).:]|\)\}\\| -)[\s\"*_]*\Z")
SENTENCE_START = re.compile(rf"(?:\A|[.!?\n])[\s\"*_]*\Z|{BEHIND_LABEL.pattern}")
NAMED = re.compile(
    r"(?:option|choice|answer|letter|is|pick|choose|select|chose|选|選|项|[(\[{*$:=])[ (\[{*:]*\Z", re.IGNORECASE
)
JOINT = re.compile(
    r"[\s,]+\Z|[\s)\]}.*$]*(?:(?:,|/|&|\||\bor\b|\band\b|和|或者?|与|及|、|[,\uff0c]?但?也?(?:有)?可能是)+\s*)+(?:(?:option"
    r"|choice|maybe|perhaps|possibly|alternatively|also|选项)\s*)?[\s(\[{*$]*\Z",
    re.IGNORECASE,
)
# '选B，A看错了条件': what follows the second letter says of it something other than that it is right too.
ASIDE = re.compile(
    r"(?=[\u4e00-\u9fff])(?:(?![也都均可或和与及]|同样|(?<!不)(?:对|正确))[^,;.\u3002\n]){2,40}(?:[,;.\u3002\n]|\Z)"
)
LETTER = r"(?:option |choice |answer |选项)?[(\[*]{0,3}(?<![A-Za-z0-9])[A-J][)\]*]{0,3}(?![A-Za-z0-9'])"


# What says which letter is right only beside a condition: 'A if x > 0, B otherwise', 'If hot: A. If cold: B.'
CONDITION = re.compile(
    r"\b(?:if|when|unless|assuming|provided|given that|case \d|case|in the (?:first|second|other|former|latter))\b"
    r"|如果|假设|若"
)
OTHERWISE = re.compile(r"\b(?:otherwise|else|(?:in the )?(?:other|second) case)\b|否则|不然")
UNDECIDED = re.compile(
    r"\b(?:can(?:no|')t|cannot|can not|unable to) (?:decide|choose|tell)\b|\b(?:not sure|don't know) which\b"
)
REASON = re.compile(r"[^.!?\n]{0,200}\b(?:because|since)\b[^.!?\n]{0,200}")
EXCEPT = re.compile(
    r"\b(?:wrong|incorrect|false|eliminated|excluded|ruled out)(?: ?,)? (?:except|but|save|apart from)(?: for)?\b"
)


def without_listing(text: str, letters: str) -> str:
    """Return ``text`` without a list of all choices, or of two that are compared, where it names a letter besides."""
    text = EXCEPT.sub(" so it's ", text)
    mark = r"[(\[*]{0,3}%s[)\]*]{0,3}"
    run = r"(?:\s*[,/|、]\s*(?:and |or |和|或)?|\s+(?:and|or)\s+|和|或|\s+)".join(mark % letter for letter in letters)
    one = mark % f"[A-{max(USUAL[-1], letters[-1])}]"
    two = rf"\b[Bb]etween (?:option |choice )?{one} and (?:option |choice )?{one}(?!\w)"
    for pattern in (rf"(?<!\w){run}(?!\w)" if len(letters) > 2 else two, two):
        rest = re.sub(pattern, " ", text)
        if rest != text and lone_letters(rest, letters):
            text = rest
    return text


def is_conditional(text: str, mentions: list[tuple[str, int, int]]) -> bool:
    """Whether of two letters that follow each other the one is right under one condition, the other under another."""
    if len(mentions) < 2 or mentions[-1][0] == mentions[-2][0]:
        return False
    (_, begin, end), (_, other, after) = mentions[-2:]
    begin = max(mentions[-3][2] if len(mentions) > 2 else 0, begin - 64)
    before, between, behind = text[begin : mentions[-2][1]], text[end:other], text[after : after + 48]
    conditions = [bool(CONDITION.search(part.lower())) for part in (before, between, behind)]
    unless = re.search(r"\bunless\b", between)
    if unless and re.search(r"\bthen\b", between[unless.end() :]):
        return True
    if OTHERWISE.search(between.lower()) or OTHERWISE.search(behind.lower()):
        return any(conditions)
    return sum(conditions) > 1


def without_reasons(text: str, mentions: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Return the mentions without a last one that only says why the one before is right: 'A, because B is odd'."""
    if len(mentions) > 1 and REASON.fullmatch(text[mentions[-2][2] : mentions[-1][1]]):
        return mentions[:-1]
    return mentions


def lone_letters(text: str, letters: str) -> list[tuple[str, int, int]]:
    """Return the letters of choices that stand alone, with their places; no article, no pronoun."""
    mentions = []
    for match in ALONE.of(letters).finditer(text):
        letter, before = match[0], text[max(0, match.start() - 12) : match.start()]
        is_named = NAMED.search(before) and not BEHIND_LABEL.search(before)
        is_word = letter in WORD and WORD[letter].match(text, match.end()) and not is_named
        if letter in letters and not (is_word and (letter == "I" or SENTENCE_START.search(before))):
            mentions.append((letter, match.start(), match.end()))
    return mentions


def without_formulas(text: str, letters: str) -> str:
    """Return ``text`` without its formulas; one that is a letter alone stays."""

    def kept(formula: re.Match[str]) -> str:
        return formula[0] if LONE.of(letters).fullmatch(next(filter(None, formula.groups()))) else " "

    return FORMULA.sub(kept, text) if "$" in text or "\\" in text else text


def is_name(text: str, mention: tuple[str, int, int]) -> bool:
    """Whether a letter stands for something other than a choice: a variable, vitamin A, the array B."""
    _, begin, end = mention
    before = text[max(0, begin - 16) : begin]
    if NAME_AFTER.match(text, end) or (DEFINED_BEFORE.search(before) and DEFINED_AFTER.match(text, end)):
        return True
    return NAME_BEFORE.search(before) is not None and not (before.endswith("$") and LINE_END.match(text, end))


def are_letters(text: str, letters: str) -> bool:
    """Return whether a text is nothing but several letters: '(A) (B)'."""
    words = set(re.findall(r"\w+", text))
    return len(words) > 1 and words <= set(letters)


def are_alternatives(text: str, mentions: list[tuple[str, int, int]], at: int) -> bool:
    """Return whether the letter at ``at`` is one of several ('A or B')."""
    pairs = [(mentions[i - 1], mentions[i]) for i in (at, at + 1) if 0 < i < len(mentions)]
    return any(
        a[0] != b[0] and b[1] - a[2] < 32 and JOINT.match(text[a[2] : b[1]]) and not ASIDE.match(text, b[2])
        for a, b in pairs
    )


def named_lower(text: str, letters: str) -> set[str]:
    """Return the last lower-case letter that words name ('i choose b')."""
    named = [(match[1] or match[2]).upper() for match in NAMED_LOWER.of(letters).finditer(text)]
    return {letter for letter in named[-1:] if letter in letters}

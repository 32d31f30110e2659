"""Responses that get the lowest score without a judge being asked: they say nothing, and are known to win points.

Source of the kind: Zhao et al., One Token to Fool LLM-as-a-Judge (arXiv 2507.08794), table 1: marks, and openers such
as 'Thought process:'. They are met by their class: whatever holds no word but those that announce an answer.
"""

import html
import keyword
import re
import unicodedata
from pathlib import Path

from reward.judge.prompts.presets import sections
from reward.judge.prompts.template import visible

CHUNK = re.compile(r"(?s).{1,1024}(?!\S)|.{1,1024}")  # what is looked at at once, cut between words where it can be
SLICE = 256  # characters that are normalized at once
MARKS = re.compile(r"[\W_]+")
TAGS = re.compile(
    r"</?(?!think)[a-z][a-z0-9]{0,15}\s{0,4}/?>|\\(?:text(?:bf|it)?|(?:sub)*section|begin|end)(?=\*?\{)|\\[nrt](?![a-z])|\\[()\[\]]|\$+",
    re.I,
)
# Marks that no question has for an answer, unlike those of a programming language.
SAYS_NOTHING = re.compile(
    r"[\s.,:;!?'\"`\u2010-\u2027\u2030-\u205e\u2e00-\u2e7f\u3001-\u301f\u30fb\uff01\uff0c\uff0e\uff1a\uff1b\uff1f\uff61"
    r"-\uff65\u00a1\u00a7\u00b6\u00b7\u00bf\u00ab\u00bb\u060c\u061b\u061f\u0964\u0965\u2800-]+"
)
# A line of Markdown that has no words: the marks of a heading, a rule, a fence, an empty table or formula.
RULE = re.compile(
    r"\#{1,6}|\*{2,9}|_{2,9}|={3,}|~{3,}|`{3,}\w{0,12}(?:`{3,})?|>{1,3}|\|[ :-]{0,9}[ -][|: -]*"
    r"|\${2}\s{0,9}(?:\${2})?|\\\[\s{0,9}\\\]"
    r"|(?:</?(?:answer|solution|reasoning|response|final|result|output|think|thinking)>\s{0,9})+",
    re.I,
)
BOLD = re.compile(r"\*\*|__")
UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
FIRST_ACCENT = "\u0300"  # no character before it combines with another
# Letters of other scripts that pass for Latin ones.
ALIKE = str.maketrans("аеорсухіјѕһӏԁԛԝαοντρκιυ", "aeopcyxijshldqwaovtpkiu")


def plain(text: str) -> str:
    """Return ``text`` folded: compatible characters, lower case, no marks and accents, single blanks."""
    folded = text.casefold()
    if not folded.isascii():  # in slices: to put a long run of accents in order takes quadratic time
        slices = (folded[at : at + SLICE] for at in range(0, len(folded), SLICE))
        parts = "".join(unicodedata.normalize("NFKD", part) for part in slices).casefold()
        bare = "".join(letter for letter in parts if letter < FIRST_ACCENT or not unicodedata.combining(letter))
        folded = unicodedata.normalize("NFC", bare)
    return MARKS.sub(" ", folded).strip()


WORD_FILE = sections((Path(__file__).parent / "empty_words.txt").read_text(encoding="utf-8"))


def _word_set(section: str) -> frozenset[str]:
    return frozenset(plain(WORD_FILE[section]).split())


SOLO, STEM, LINK, INNER = map(_word_set, ("solo", "stem", "link", "inner"))
SOLO_PARTS, STEM_PARTS, LINK_PARTS = map(_word_set, ("solo_parts", "stem_parts", "link_parts"))
FILLER = SOLO | STEM | LINK | INNER
NUMBERED = frozenset(plain("step paso etape schritt passo stap steg krok adim langkah шаг 步 ステップ 단계").split())
PHRASES = sorted(map(plain, WORD_FILE["phrases"].strip().splitlines()), key=len, reverse=True)
ANNOUNCED = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b")
# What ends in a colon announces, but for a letter of a choice, code and the beginning of a letter.
LONGEST_HEADING = 120
NO_HEADING = _word_set("no_heading") | frozenset(map(str.lower, keyword.kwlist))
NUMBERED_LINE = re.compile(r"\W{0,9}\d{1,2}[.)]\s")
COUNT = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}
PARTS = re.compile("|".join(sorted(SOLO_PARTS | STEM_PARTS | LINK_PARTS, key=len, reverse=True)))


def guard(prompt: str, response: str, ground_truth: str) -> str | None:
    """Return why ``response`` gets the lowest score unasked: empty, master_key or echo; None where it is to be judged.

    A response that is what the ground truth says is always judged.
    """
    seen = visible(response).strip()
    if not seen:
        return "empty"
    if ground_truth.strip() and seen == visible(ground_truth).strip():
        return None
    if all(_is_empty(part[0]) for part in CHUNK.finditer(seen)) and not _is_same(seen, ground_truth):
        return "master_key"
    if _is_same(seen, prompt) and not _is_same(prompt, ground_truth):
        return "echo"
    return None


def _is_same(text: str, other: str) -> bool:
    """Whether two texts have the same words, of which there are some; the beginnings are compared first."""
    first, second = plain(text[:SLICE]), plain(visible(other).strip()[:SLICE])
    most = min(len(first), len(second)) // 2
    if not first or first[:most] != second[:most]:
        return False
    return plain(visible(text)) == plain(visible(other))


def _is_empty(text: str) -> bool:
    """Whether ``text`` holds marks alone, or no word but those that announce an answer."""
    lines = [line for line in map(str.strip, text.split("\n")) if not RULE.fullmatch(line)]
    if SAYS_NOTHING.fullmatch(BOLD.sub("", "\n".join(lines)) or " "):
        return True
    if _is_heading(text):
        return True
    tokens: list[str] = []
    kinds = set()
    tokens_of_text = ANNOUNCED.sub("solution", plain(TAGS.sub(" ", html.unescape(text)))).split()
    for token in (token for word in tokens_of_text for token in _split(word)):
        if not (kind := _kind(token, tokens)):
            return _spelt_out(text)
        kinds.add(kind)
        tokens.append(token)
    if not tokens or tokens[-1] in INNER or (len(tokens[-1]) == 1 and "a" <= tokens[-1] <= "z"):
        return False
    if tokens_of_text[-1] == tokens[-1] and HAN_OR_KANA.match(tokens_of_text[-1]) and _kind(tokens[-1], []) == "link":
        return False  # a word of its own, as in 'Answer: is' where that means yes
    return "solo" in kinds or ("stem" in kinds and len(tokens) > 1)


def _is_heading(text: str) -> bool:
    """Whether ``text`` is one short line of words that ends in a colon, and so announces what does not come."""
    line = TAGS.sub(" ", text[: LONGEST_HEADING + 1]).rstrip(" \t\n*_`\"'\u201d)>#-")
    if len(text) > LONGEST_HEADING or not line.endswith((":", "\uff1a")) or "\n" in line.strip():
        return False
    line_words = plain(NUMBERED_LINE.sub("", line, count=1)).split()
    return (
        0 < len(line_words) <= 10
        and line_words[0] not in NO_HEADING
        and not any(char.isdigit() for word in line_words for char in word)
        and any(len(word) > 1 or not word.isascii() for word in line_words)
    )


def _split(word: str) -> list[str]:
    """Return a word without its digits, or the known parts of one in a script without blanks, if it has no others."""
    if not UNSPACED.search(word):
        return re.findall(r"\d+|[^\d]+", word)
    parts, remainder = PARTS.findall(word), PARTS.sub("", word)
    return [word] if remainder and not remainder.isdecimal() else [*parts, *filter(None, [remainder])]


def _kind(token: str, before: list[str]) -> str:
    """Return what a token is: solo, stem or link; empty for one that says something."""
    known = token if token in FILLER else token.translate(ALIKE)
    if known in SOLO or token in SOLO_PARTS:
        return "solo"
    if known in STEM or token in STEM_PARTS:
        return "stem"
    if known in FILLER or PARTS.fullmatch(token):
        return "link"
    number = COUNT.get(token, token)
    wanted = str(1 + sum(token in NUMBERED for token in before[:-1]))  # Step 1, Step 2; not the answer 'Step 2'
    return "link" if before and before[-1] in NUMBERED and number == wanted else ""


def _spelt_out(text: str) -> bool:
    """Whether ``text`` is one word with a blank after each letter."""
    letters = plain(text).split()
    return 3 < len(letters) < 20 and all(len(letter) == 1 for letter in letters) and "".join(letters) in SOLO

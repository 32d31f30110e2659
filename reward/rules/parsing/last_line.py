"""What the last line of a mathematical response says: formulas that are joined, roots, a ratio, a time of day."""

import re

from reward.rules import number

# Between its brackets no other begins: else a response of brackets alone would take the square of its length.
FORMULA = re.compile(r"\$\$?([^$]+)\$\$?|\\\(((?:(?!\\[()]).)+)\\\)|\\\[((?:(?!\\[\[\]]).)+)\\\]", re.DOTALL)
# 'x = 1 or x = 2', '$x=1$ and $x=2$.' at the end of a line.
ROOTS = re.compile(
    r"(?<![A-Za-z\d])([a-z])_?[\d\u2081-\u2089]? ?= ?[-+]?\d[\d./]{0,16}"
    r"(?:(?:,? or |,? and |, |[\uff0c、] ?| ?或者? ?)\1_?[\d\u2081-\u2089]? ?= ?[-+]?\d[\d./]{0,16}){1,4}[.。]?\Z"
)
NUMBER = re.compile(r"(?<== )[-+]?[\d./]*\d|(?<==)[-+]?[\d./]*\d")
ONE_FORMULA = r"(?:\$[^$\n]{1,64}\$|\\\((?:(?!\\[()]).){1,64}\\\))"
# '$x=1$ 或 $x=3$'
EITHER_ROOT = re.compile(
    r"\$([a-z])(?:_\{?\d\}?)? ?= ?([^$=\n]{1,40})\$[ ,]{0,2}(?:或者?|or) ?"
    r"\$\1(?:_\{?\d\}?)? ?= ?([^$=\n]{1,40})\$[\s.\u3002\uff0e]*\Z"
)
RATIO = re.compile(
    r"(?:\bratio\b|比)[^\n]{0,200}?(?<![\w:.])(\d{1,9})(?: to | ?[:\uff1a] ?)(\d{1,9})[.*\s\u3002]*\Z", re.ASCII
)
# 'x = 2, y = 3'
NAMED = re.compile(r"([A-Za-z](?:_\{?\w\}?)?) ?= ?([^=,]+)")
ASSIGNED = r"[a-z] ?= ?[-+]?\d[\d./]{0,16}"
ASSIGNMENTS = re.compile(
    rf"(?<![\w+*/^-]){ASSIGNED}(?:(?:,? and |, ?|[\uff0c、] ?| ?[和且] ?){ASSIGNED}){{1,4}}[.*\s\u3002]*\Z"
)
AND = re.compile(r",? and |, ?|[\uff0c、] ?| ?[和且] ?")
CLOCK = re.compile(r"(?<![\d:])(\d{1,2}:\d\d ?[ap]\.?m)\.?[.*\s]*\Z", re.IGNORECASE)
JOINED_FORMULAS = re.compile(
    rf"(?<!between )(?<!from ){ONE_FORMULA}(?:[,\uff0c、]? ?{ONE_FORMULA}){{0,4}}"
    rf"(?:,? and | ?[\uff0c、和与] ?|(?<=\d\$), (?=\$(?:[a-z] ?= ?)?[\d-]))"
    rf"{ONE_FORMULA}[.*\s。\uff0e]*\Z",
    re.IGNORECASE,
)
PLAIN_NUMBER = re.compile(r"-?[\d.,/]*\d")  # '$5$, $6$, $7$' is no 7
TEN = re.compile("\u00d7 ?10([\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3})")
SIDES = re.compile(r"(?<![<>!:=\\])=(?!=)")


def several(text: str) -> tuple[str, ...]:
    """The readings of formulas that 'and' or commas join at the end ('$x=1$ and $x=2$'), or of 'x = 1 or x = 2'."""
    line = ascii_signs(text.strip().rpartition("\n")[2])
    if roots := ROOTS.search(line):
        return (", ".join(NUMBER.findall(roots[0])),)
    if assigned := ASSIGNMENTS.search(line):
        parts = AND.split(assigned[0].rstrip(".* \t\u3002"))
        return (", ".join(parts), parts[-1])
    if either := EITHER_ROOT.search(line):
        return (f"{either[2]}, {either[3]}",)
    if ratio := RATIO.search(line):
        return (f"{ratio[1]}:{ratio[2]}",)
    if clock := CLOCK.search(line):
        return (clock[1],)
    joined = JOINED_FORMULAS.search(line)
    if joined is None:
        return ()
    formulas = [next(filter(None, formula.groups()), "").strip() for formula in FORMULA.finditer(joined[0])]
    values = ", ".join(SIDES.split(formula)[-1] for formula in formulas)
    if named(", ".join(formulas)):
        values = ", ".join(formulas)
    return (values,) if all(map(PLAIN_NUMBER.fullmatch, formulas)) else (values, formulas[-1])


def named(text: str) -> dict[str, str] | None:
    """The values of 'a = 2, b = 3' by their names, of which each stands once; None where a text is something else."""
    pairs = [NAMED.fullmatch(part.strip()) for part in text.split(",")] if "=" in text and "," in text else []
    names = {re.sub(r"[{}]", "", pair[1]): pair[2].strip() for pair in pairs if pair}
    return names if len(names) == len(pairs) > 1 else None


def ascii_signs(text: str) -> str:
    """``text`` with ASCII minus signs and '1.2 * 10^-4' for what Unicode has for it."""
    if text.isascii():
        return text
    text = TEN.sub(lambda ten: f"*10^{ten[1].translate(number.RAISED)}", text)
    return text.translate(dict.fromkeys(map(ord, number.MINUS), "-"))

"""What the last line of a mathematical response says: formulas that are joined, roots, a ratio, a time of day."""

import re

from reward.rules import number

# Between its brackets no other begins: else a response of brackets alone would take the square of its length.
FORMULA = re.compile(r"\$\$?([^$]+)\$\$?|\\\(((?:(?!\\[()]).)+)\\\)|\\\[((?:(?!\\[\[\]]).)+)\\\]", re.DOTALL)
# 'x = 1 or x = 2', '$x=1$ and $x=2$.' at the end of a line.
ROOTS = re.compile(
    r"(?<![A-Za-z\d])([a-z]) ?= ?[-+]?\d[\d./]{0,16}(?:(?:,|,? or|,? and) (?:\1 ?= ?)[-+]?\d[\d./]{0,16}){1,4}\.?\Z"
)
NUMBER = re.compile(r"(?<== )[-+]?[\d./]*\d|(?<==)[-+]?[\d./]*\d")
ONE_FORMULA = r"(?:\$[^$\n]{1,64}\$|\\\((?:(?!\\[()]).){1,64}\\\))"
# '$x=1$ 或 $x=3$'
EITHER_ROOT = re.compile(
    r"\$([a-z])(?:_\{?\d\}?)? ?= ?([^$=\n]{1,40})\$[ ,]{0,2}(?:或者?|or) ?"
    r"\$\1(?:_\{?\d\}?)? ?= ?([^$=\n]{1,40})\$[\s.\u3002\uff0e]*\Z"
)
RATIO = re.compile(r"\bratio\b[^\n]{0,200}?\b(\d{1,9}) to (\d{1,9})[.*\s]*\Z")
CLOCK = re.compile(r"(?<![\d:])(\d{1,2}:\d\d ?[ap]\.?m)\.?[.*\s]*\Z", re.IGNORECASE)
JOINED_FORMULAS = re.compile(
    rf"(?<!between )(?<!from ){ONE_FORMULA}(?:[,\uff0c、]? ?{ONE_FORMULA}){{0,4}}(?:,? and | ?[\uff0c、和与] ?)"
    rf"{ONE_FORMULA}[.*\s。\uff0e]*\Z",
    re.IGNORECASE,
)
TEN = re.compile("\u00d7 ?10([\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3})")
SIDES = re.compile(r"(?<![<>!:=\\])=(?!=)")


def several(text: str) -> tuple[str, ...]:
    """The readings of formulas that 'and' or commas join at the end ('$x=1$ and $x=2$'), or of 'x = 1 or x = 2'."""
    line = ascii_signs(text.strip().rpartition("\n")[2])
    if roots := ROOTS.search(line):
        return (", ".join(NUMBER.findall(roots[0])),)
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
    return (", ".join(SIDES.split(formula)[-1] for formula in formulas), formulas[-1])


def ascii_signs(text: str) -> str:
    """``text`` with ASCII minus signs and '1.2 * 10^-4' for what Unicode has for it."""
    if text.isascii():
        return text
    text = TEN.sub(lambda ten: f"*10^{ten[1].translate(number.RAISED)}", text)
    return text.translate(dict.fromkeys(map(ord, number.MINUS), "-"))

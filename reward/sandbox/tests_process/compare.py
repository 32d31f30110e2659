"""Whether what a program printed, or a function returned, is what was wanted: as APPS and LiveCodeBench have it.

Source: ``testing_util.py`` of hendrycks/apps and of LiveCodeBench. Blanks around lines and blank lines at the ends do
not count; tuples are lists; numbers are equal by value, and those with a point or an exponent up to numpy.allclose's
tolerance (APPS). Stricter by intent than APPS, which compares lines as unordered sets of words as a last resort.
"""

import json
import math
from decimal import Decimal, InvalidOperation
from typing import Any

RELATIVE, ABSOLUTE = 1e-5, 1e-8
BLANKS = " \t\r"
NOISE = Decimal("1e-8")  # of a float that is printed where an integer is due


def same_output(printed: str, wanted: str) -> bool:
    """Whether a program's output is right."""
    left, right = _lines(printed), _lines(wanted)
    return len(left) == len(right) and all(map(_same_line, left, right))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _same_line(left: str, right: str) -> bool:
    if left == right:
        return True
    if any(character.isspace() and character not in BLANKS for character in left):  # a space of another kind
        return False
    words, wanted = left.split(), right.split()
    return len(words) == len(wanted) and all(map(_same_word, words, wanted))


def _same_word(left: str, right: str) -> bool:
    if left == right:
        return True
    if not left.isascii() or "_" in left:  # digits of another script, 1_000
        return False
    try:
        a, b = Decimal(left), Decimal(right)
    except InvalidOperation:
        return False
    if not (a.is_finite() and b.is_finite() and len(left) < 400 and len(right) < 400):
        return False
    if right.isalnum() and not right.isdecimal():  # 0e1 may be a hash, and 1e5 is no float as programs print them
        return a == b != 0
    if not ("." in right or "e" in right.lower()):  # 50000000000000001 is not 50000000000000000
        return a == b or ("." in left and abs(a - b) <= NOISE)
    return close(float(a), float(b))


def close(value: float, wanted: float) -> bool:
    """Whether two numbers are as close as numpy.allclose asks."""
    return value == wanted or (math.isfinite(wanted) and abs(value - wanted) <= ABSOLUTE + RELATIVE * abs(wanted))


def may_be_wrapped(results: list[Any]) -> bool:
    """Whether results that are due may be in lists of their own, as APPS has them: none has more items than one."""
    return not any(isinstance(wanted, list) and len(wanted) > 1 for wanted in results)


def same_result(result: Any, wanted: Any, values: bool, wrapped: bool) -> bool:
    """Whether a function's result is right.

    Args:
        result: what the function returned.
        wanted: what is due.
        values: whether a text in ``wanted`` has not been read as JSON; it may be either.
        wrapped: whether ``wanted`` may be in a list of its own (``may_be_wrapped``); ``True`` is then no ``[1]``.
    """
    result = plain(result)
    if wrapped and isinstance(wanted, list) and len(wanted) == 1 and _same(result, wanted[0]):
        return not isinstance(result, bool) or isinstance(wanted[0], bool)
    return _same(result, wanted) or (values and isinstance(wanted, str) and _same(result, _json(wanted)))


def _json(text: str) -> Any:
    """Return what ``text`` is as JSON, where a set writes its results so; else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def argument(value: Any) -> Any:
    """Return an argument with numbers for keys where JSON could only have texts, as APPS's grader does."""
    if isinstance(value, dict) and value and all(key.lstrip("-").isdecimal() for key in value):
        return {int(key): item for key, item in value.items()}
    return value


def plain(value: Any) -> Any:
    """Return a value as JSON has it: tuples are lists."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _same(result: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and isinstance(result, (int, float)):
        return bool(math.isnan(wanted) and result != result) or close(float(result), wanted)
    if isinstance(wanted, list):
        return isinstance(result, list) and len(result) == len(wanted) and all(map(_same, result, wanted))
    if isinstance(wanted, dict) and isinstance(result, dict):
        texts = {str(key): value for key, value in result.items()}  # JSON has no other keys
        if not len(texts) == len(result) == len(wanted):  # 1 and "1" are two keys
            return False
        return all(key in texts and _same(texts[key], wanted[key]) for key in wanted)
    return bool(result == wanted)

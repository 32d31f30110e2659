"""What a text that is no JSON, or not UTF-8, was meant to be."""

import ast
import contextlib
import json
import re

from reward.support import wording

# Curly quotes and full-width signs, as a word processor or a Chinese input method writes them.
SIGNS = str.maketrans("\u201c\u201d\uff02\uff1a\uff0c\uff5b\uff5d\uff3b\uff3d", '""":,{}[]')
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
COMMA = re.compile(r",(\s*[]}])")  # before the end of a list or an object
LONGEST = 1 << 20  # bytes that are looked at


def not_utf8(content: bytes, position: int) -> str:
    """Return what is said of a text of data whose byte at ``position`` is none of UTF-8."""
    said = wording.not_utf8(content, position)
    return f"{said} (Excel: save as CSV UTF-8)" if "GBK" in said else said


def meant(text: str) -> str:
    """Return what to do about a text that is no JSON, where that can be told; else nothing."""
    import orjson

    part = text[:LONGEST]
    plain = part.translate(SIGNS)
    if plain != part:
        with contextlib.suppress(orjson.JSONDecodeError):
            orjson.loads(plain)
            signs = " ".join(dict.fromkeys(sign for sign in part if ord(sign) in SIGNS))
            return f'bad JSON: {signs} are signs of an input method or a word processor; type " : , instead'
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(part)  # which takes more than JSON has
        what = (
            "half of a character (\\ud800 to \\udfff alone)"
            if SURROGATE.search(part)
            else "a number that is infinite, or none (NaN)"
        )
        return f"bad JSON: it has {what}; take it out"
    with contextlib.suppress(orjson.JSONDecodeError):
        orjson.loads(COMMA.sub(r"\1", part))
        return "bad JSON: a comma stands before a closing ] or }; take it out"
    with contextlib.suppress(SyntaxError, ValueError, MemoryError, RecursionError):
        if isinstance(ast.literal_eval(part), (dict, list)):
            return "bad JSON: it is Python's way to write a row; write JSON, as json.dumps does"
    return ""

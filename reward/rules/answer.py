"""Where in a response the final answer stands. One answer, never several: a list of guesses is not right by luck."""

import re

LONGEST = 16_384  # characters of a response that are looked at, from its end
TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
SAID = re.compile(r"(?:final answer|answer)\s*(?:is|=|:)\s*:?\s*(.*)", re.IGNORECASE)


def tail(response: str) -> str:
    """Return the end of a response, where its answer is."""
    return response[-LONGEST:]


def tagged(response: str) -> str | None:
    """Return what the last ``<answer>`` tag holds."""
    found, begin = None, None
    for tag in TAG.finditer(response):  # one pass: a response may be all opening tags
        if tag[1] and begin is not None:
            found, begin = response[begin : tag.start()].strip(), None
        elif not tag[1] and begin is None:
            begin = tag.end()
    return found


def boxed(response: str) -> str | None:
    r"""Return what the last ``\boxed{...}`` or ``\fbox{...}`` holds, braces balanced; "" where it is not closed."""
    start = max(response.rfind("\\boxed{"), response.rfind("\\fbox{"))
    if start < 0:
        return None
    begin = response.index("{", start) + 1
    depth = 1
    for position in range(begin, len(response)):
        char = response[position]
        if char == "{" and response[position - 1] != "\\":
            depth += 1
        elif char == "}" and response[position - 1] != "\\":
            depth -= 1
            if not depth:
                return response[begin:position].strip()
    return ""  # cut off in its answer: there is none


def hashed(response: str) -> str | None:
    """Return what follows the last ``####``, to the end of its line."""
    _, mark, after = response.rpartition("####")
    return after.strip().split("\n", 1)[0].strip() if mark and after.strip() else None


def said(response: str) -> str | None:
    """Return what follows the last 'answer is' or 'answer:', to the end of its line, without a full stop."""
    found = SAID.findall(response)
    return found[-1].strip().strip("*").rstrip(".").strip() if found else None

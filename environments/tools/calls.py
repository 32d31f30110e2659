"""Calls of the model's, made: whatever goes wrong is an answer to the model."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema.exceptions import best_match

from environments.tools.load import Tool
from environments.tools.spec import ERROR
from reward.support.wording import shown


@dataclass(frozen=True)
class Call:
    """A call, as the model wrote it: ``arguments`` is the text of a JSON object, or should be."""

    name: str
    arguments: str


def answer(tools: Mapping[str, Tool], call: Call, limit: int) -> str:
    """Return the answer to ``call``, of ``limit`` characters at most; one that begins with ``ERROR`` has failed."""
    try:
        return cut(_make(tools, call), limit)
    except Exception as error:  # of a tool
        why = f": {shown(error, limit)}" if str(error) else ""
        return cut(f"{ERROR}{type(error).__name__}{why}", limit)


def cut(text: str, limit: int) -> str:
    """Return ``text``, cut to about ``limit`` characters, with its length where that is more."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def _make(tools: Mapping[str, Tool], call: Call) -> str:
    tool = tools.get(call.name)
    if tool is None:
        return f"{ERROR}there is no tool {shown(call.name, 60)}; there are: {', '.join(tools)}"
    try:
        arguments = json.loads(call.arguments, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return f"{ERROR}the arguments of {call.name} are no JSON"
    error = best_match(tool.arguments.iter_errors(arguments))
    if error is not None:
        place = ".".join(map(str, error.path))
        return f"{ERROR}{call.name}: {f'{place}: ' * bool(place)}{shown(error.message, 200)}"
    return text_of(tool.function(**arguments))


def text_of(value: Any) -> str:
    """Return what a tool returned as the text that the model reads."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode(errors="replace").decode()


def _finite(text: str) -> float:
    """Return a number of JSON, which has no NaN and nothing infinite, though Python reads both.

    Raises:
        ValueError: it is none.
    """
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number

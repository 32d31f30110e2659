"""The types of what a person writes in a YAML file, checked by pydantic; every fault is a line in the kit's own words.

The classes are plain dataclasses with ``__pydantic_config__ = STRICT``; what a field may be stands beside its type:
``Annotated[int, Number(1, ": {value}: {number} of 1 or more is wanted")]``. pydantic is imported where something is
checked and nowhere else: it takes 0.1 s, and set-up's Python need not have it.
"""

import dataclasses
import itertools
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from reward.support.nearest import did_you_mean
from reward.support.wording import shown

STRICT = {"extra": "forbid"}
MOST = 160  # characters of a value in a message
MOST_LISTED = 240  # characters of a list of names
LARGEST = 1e300  # in size, of a number: what is beyond makes no float
T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """What is said of a value that does not fit, whatever is wrong with it: ``message`` follows its name."""

    message: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return _saying(self.message, handler(source))


@dataclass(frozen=True)
class Number:
    """A finite number from ``least`` to ``most``, whole where the type is ``int``; a text or a bool is none.

    ``message`` as in ``Message``; ``{number}`` stands for a number, or a whole number.
    """

    least: float
    message: str
    most: float = LARGEST

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        types = typing.get_args(source) or (source,)
        least = None if self.least == -math.inf else math.ceil(self.least)
        whole = core_schema.int_schema(strict=True, ge=least, le=int(self.most))
        real = core_schema.float_schema(strict=True, allow_inf_nan=False, ge=self.least, le=self.most)
        schema: Any = whole if int in types else core_schema.union_schema([whole, real])  # 60 stays 60
        schema = core_schema.nullable_schema(schema) if type(None) in types else schema
        return _saying(self.message.replace("{number}", "a whole number" if int in types else "a number"), schema)


@dataclass(frozen=True)
class Strict:
    """Of the type itself: neither a text such as ``true`` for a bool, nor bytes for a text."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return {**handler(source), "strict": True}


@dataclass(frozen=True)
class OneOf:
    """One of ``choices``. ``message`` as in ``Message``; ``{choices}`` stands for those that are not empty."""

    choices: tuple[str, ...]
    message: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        message = self.message.replace("{choices}", ", ".join(filter(None, self.choices)))
        return _saying(message, core_schema.literal_schema(list(self.choices)))


@dataclass(frozen=True)
class Check:
    """What the type alone does not tell: ``fault`` of a value, and of the fields before it, is why it does not fit."""

    fault: Callable[[Any, Mapping[str, Any]], str]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        def check(value: Any, info: Any) -> Any:
            if fault := self.fault(value, info.data or {}):
                raise ValueError(fault)
            return value

        return core_schema.with_info_after_validator_function(check, handler(source))


@dataclass(frozen=True)
class Via:
    """Read as ``source``, then made by ``make``; where ``source`` is None, made first and read as the type itself.

    A ValueError of ``make`` says why there is nothing to be made.
    """

    make: Callable[[Any], Any]
    source: Any = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        if self.source is None:
            return core_schema.no_info_before_validator_function(self.make, handler(source))
        return core_schema.no_info_after_validator_function(self.make, handler.generate_schema(self.source))


def empty(kind: Callable[[], Any]) -> Via:
    """Take a name with nothing after it, or with an empty text, for an empty ``kind``."""
    return Via(lambda value: kind() if value is None or value == "" else value)


def _saying(message: str, schema: Any) -> Any:
    from pydantic_core import core_schema

    return core_schema.custom_error_schema(schema, "wanted", custom_error_message=message)


def parse(kind: type[T], values: Any, name: Callable[[str], str]) -> tuple[T | None, list[str]]:
    """Return ``values`` as a ``kind`` and nothing, or None and every fault, one line each.

    ``name`` says what a place is called in a message: it is given ``fallback[0].model``, and nothing for the whole.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(values), []
    except ValidationError as error:
        lines = [_line(kind, dict(detail), name) for detail in error.errors(include_url=False)]
        return None, list(dict.fromkeys(lines))


def _line(kind: Any, error: Mapping[str, Any], name: Callable[[str], str]) -> str:
    place, value = [part for part in error["loc"] if part != "[key]"], error["input"]
    if error["type"] == "wanted":
        return name(_path(place)) + str(error["msg"]).replace("{value}", _written(value))
    if error["type"] == "value_error":
        return f"{name(_path(place))}: {error['ctx']['error']}"
    if error["type"] in ("unexpected_keyword_argument", "invalid_key"):
        known = [field.name for field in dataclasses.fields(_type_at(kind, place[:-1]))]
        return f"{name(_path(place[:-1]))}: {no_such(str(place[-1]), known)}"
    if error["type"] == "missing":
        place = place[:-1]
    not_value = f", not {_written(value)}" if error["type"] != "missing" else ""
    return f"{name(_path(place))}: {_shape(_type_at(kind, place))} is wanted{not_value}"


def no_such(name: str, known: list[str]) -> str:
    """Return that there is no ``name``, with the nearest of those that are known, or a line of them."""
    listed = [*itertools.takewhile(lambda n: len(", ".join(known[:n])) <= MOST_LISTED, range(1, len(known) + 1))]
    more = len(known) - len(listed)
    names = ", ".join(known[: len(listed)]) + f" and {more} more" * bool(more)
    return f"there is no {shown(name)}; " + (did_you_mean(name, known) or f"there are {names}")


def _written(value: Any) -> str:
    """Return a value as it is written in YAML, in short."""
    words: dict[Any, str] = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else shown(repr(value), MOST)


def _path(place: list[Any]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{shown(part)}" for part in place).removeprefix(".")


def _type_at(kind: Any, place: list[Any]) -> Any:
    """Return the type that a place below ``kind`` has, without what stands beside it."""
    for part in place:
        if dataclasses.is_dataclass(kind):
            kind = typing.get_type_hints(kind)[str(part)]
        else:
            inner = [argument for argument in typing.get_args(kind) if argument is not Ellipsis]
            kind = inner[-1]
    return kind


def _shape(kind: Any) -> str:
    if dataclasses.is_dataclass(kind):
        return "{" + ", ".join(f"{field.name}: ..." for field in dataclasses.fields(kind)) + "}"
    if typing.get_origin(kind) is tuple:
        return f"a list of {_shape(typing.get_args(kind)[0])}"
    return "{NAME: VALUE, ...}"

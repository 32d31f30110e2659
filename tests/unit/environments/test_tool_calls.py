"""Calls as a policy writes them: each is answered in a text that can be written, and none surprises a tool."""

import json
import time

import pytest

from environments.tools.calls import Call, answer, text_of
from environments.tools.load import Tool, load

LIMIT = 300
NO_JSON = (
    *(
        "",
        " ",
        "{",
        "}",
        "[" * 100_000,
        '{"expression": "1"} more',
        "{'expression': '1'}",
        "{expression: 1}",
        "\ufeff{}",
    ),
    *('{"expression": NaN}', '{"expression": Infinity}', '{"expression": -Infinity}', '{"expression": 1e999}'),
    *('{"expression": [NaN]}', '{"expression": -1e400}', '{"expression": ' + "9" * 6000 + "}", "undefined", "\x00"),
    '{"expression": ' + "[" * 90_000 + "]" * 90_000 + "}",
)
MISFITS = (
    *("null", "7", "[]", '"1+1"', "{}", "true", '{"expression": 1}', '{"expression": null}', '{"expression": ["1"]}'),
    *('{"expression": {"$ref": "#"}}', '{"Expression": "1"}', '{"expression": "1", "x": 1}', '{"__class__": "1"}'),
    *(
        '{"expression": "1", "__globals__": {}}',
        '{"expression ": "1"}',
        '{"expression": ' + "[" * 900 + "]" * 900 + "}",
    ),
    json.dumps({str(number): number for number in range(50_000)}),
    json.dumps({"x" * 100_000: "1"}),
)
NAMES = (
    "",
    "Calculate",
    "calculate ",
    "calculate\n",
    "__init__",
    "calculate.__globals__",
    "x" * 100_000,
    "\ud800",
    "\x1b[2J",
)


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    return load(["calculator"])


@pytest.mark.parametrize("arguments", NO_JSON, ids=lambda text: repr(text[:30]))
def test_what_is_no_json_reaches_no_tool(tools: dict[str, Tool], arguments: str) -> None:
    assert answer(tools, Call("calculate", arguments), LIMIT) == "Error: the arguments of calculate are no JSON"


@pytest.mark.parametrize("arguments", MISFITS, ids=lambda text: repr(text[:30]))
def test_what_does_not_fit_the_schema_reaches_no_tool(tools: dict[str, Tool], arguments: str) -> None:
    began = time.process_time()
    text = answer(tools, Call("calculate", arguments), LIMIT)
    assert text.startswith("Error: calculate: ") and len(text) < LIMIT + 50
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", NAMES, ids=lambda text: repr(text[:30]))
def test_a_tool_that_is_not_there_is_told_in_printable_words(tools: dict[str, Tool], name: str) -> None:
    text = answer(tools, Call(name, "{}"), LIMIT)
    assert text.startswith("Error: there is no tool ") and text.isprintable() and len(text) < LIMIT
    text.encode()


@pytest.mark.parametrize("value", ["\ud800", ["\ud800"], {"\udfff": "\ud800"}, [[{"a": "x\ud800"}]]])
def test_an_answer_can_be_written_as_utf8(value: object) -> None:
    """A half of a surrogate pair is in no tokenizer's alphabet, and no file takes it."""
    assert "?" in text_of(value) and text_of(value).encode()

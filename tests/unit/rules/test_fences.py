"""Which block of a response is graded: by CommonMark, with what models forget."""

import time

import pytest

from reward.entry import compute_score
from reward.rules.parsing import fences
from reward.worker_pool import pool

CODE = "def f(x):\n    return x + 1\n"


def block(language: str, content: str, fence: str = "```") -> str:
    return f"{fence}{language}\n{content}{fence}\n"


@pytest.mark.parametrize(
    "response",
    [
        block("python", CODE),
        block("", CODE),
        block("bash", "pip install x\n") + "then\n" + block("python", CODE),
        block("python", CODE) + "It prints:\n" + block("text", "2\n"),
        block("python", CODE) + block("", "2\n"),
        block("python", CODE) + block("json", "{}\n") + "and so on.\n",
        block("", CODE) + "Output:\n" + block("", "2\n"),
        block("python", "def f(x):\n    return x\n") + "Better:\n" + block("python", CODE),
        block("py", CODE, "~~~"),
        block("markdown", "It is:\n" + block("python", CODE), "````"),
        block("python", CODE + "D = '''\n```\nx\n```\n'''\n", "````"),
        block("python3 title=solution.py", CODE),
        block("python:solution.py", CODE),
        block("python,linenos", CODE),
        block("python", CODE + 'D = """\n```\nx\n```\n"""\n'),
        "<think>" + block("python", "def f(x):\n    return 0\n").rstrip() + "</think>\n" + block("python", CODE),
        "<think>no code</think>\n" + CODE,
        CODE + "```\nThat is all.",
        "[BEGIN]\n" + CODE + "[DONE]",
        "[PYTHON]\n" + CODE + "[/PYTHON]",
        "<answer>" + CODE + "</answer>",
        block("{.python}", CODE),
        "1. First:\n\n" + "".join(f"   {line}\n" for line in block("Python", CODE).splitlines()),
        "- a\n  - b\n" + "".join(f"    {line}\n" for line in block("python", CODE).splitlines()),
        "".join(f"> {line}\n" for line in block("python", CODE).splitlines()),
        "".join(f"    {line}\n" for line in block("python", CODE).splitlines()),
        "``` python \r\n" + CODE.replace("\n", "\r\n") + "```\r\n",
        "```python\n" + CODE,
        "Here it is:```python\n" + CODE + "```",
        "```python\n" + CODE.rstrip() + "```\nThat is all.",
        "`f` is it:\n\n" + block("python", CODE) + "Use `f(1)`, or ```f(2)```.",
        CODE,
    ],
)
def test_the_code_is_found(response) -> None:
    extracted = fences.code(response).replace("\r\n", "\n")
    assert extracted.startswith(CODE.rstrip())
    assert compute_score("code", response, "assert f(1) == 2", {})["score"] == 1.0


@pytest.mark.parametrize(
    "response",
    [
        block("bash", CODE),
        block("text", CODE),
        block("json", CODE),
        "I would.\n" + block("output", CODE),
        block("", ""),
    ],
)
def test_other_blocks_are_no_code(response) -> None:
    assert compute_score("code", response, "assert f(1) == 2", {})["score"] == 0.0


@pytest.mark.parametrize(
    "response",
    [
        '{"a": 1}',
        block("json", '{"a": 1}\n'),
        block("bash", "ls\n") + block("json", '{"a": 1}\n') + "as asked\n" + block("text", "done\n"),
        block("", '{"a": 1}\n') + block("text", "done\n"),
        block("json", '{"a": 2}\n') + block("json", '{"a": 1}\n'),
        "~~~json\n" + '{"a": 1}\n',
        "Here:```json\n" + '{"a": 1}```',
    ],
)
def test_the_json_is_found(response) -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}
    assert compute_score("json_schema", response, schema, {})["score"] == 1.0


@pytest.mark.parametrize(
    "text",
    [
        *("`" * 100_000, "```\n" * 25_000, "> " * 50_000 + "```", "- a\n" * 25_000 + "```\nx", "a" * 100_000 + "```"),
        *("> ```\n" * 16_000, "~~~\n```\n" * 14_000, "1. " * 33_000 + "```", "x ```\n" * 20_000),
        " " * 100_000 + "```x",
        *("[" * 130_000 + "\n```", "x" * 65_000 + "\n" + "y" * 65_000 + "\n```\nz", ("a" * 200 + " ```x") * 600),
    ],
)
def test_hostile_text_is_read_at_once(text) -> None:
    started = time.process_time()
    fences.code(text)
    fences.document(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("source", ["import " + "a." * 60_000 + "b", "f'" + "{1}" * 43_000 + "'"])
def test_a_source_that_stalls_the_parser_is_wrong_and_holds_nobody_up(monkeypatch, source) -> None:
    monkeypatch.setattr(pool.ask, "__defaults__", (0.2,))
    started = time.process_time()
    result = compute_score("code", block("python", source), "assert f(1) == 2", {})
    assert (result["score"], result["unscored"], result["timeout"]) == (0.0, 0.0, 1.0)
    assert time.process_time() - started < 2

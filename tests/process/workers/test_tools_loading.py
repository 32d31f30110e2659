"""Files of tools: what is loaded of them, and what is refused in a line each."""

from pathlib import Path

import pytest

from environments.text_env import EpisodeError
from environments.tools.load import load
from environments.tools.spec import ToolsFault, ToolsSpec
from tests.process.workers.test_tools import call, use
from trainer import ROOT

NO_SCHEMA = "f: no JSON schema can be made of its types and choices"
DOC = "'Adds.\\n\\nArgs:\\n  x: a'"
FAULTS = {
    "x = 1": "no function there",
    "def f(x):\n    'Adds.'": "f: no type hint for x",
    "def f(x: int):\n    pass": "f has no docstring",
    "def f(x: int):\n    'Adds.'": "f: its docstring says nothing of x; the model is told",
    f"from typing import Any\ndef f(x: Any, y: int):\n    {DOC}": "f: its docstring says nothing of y;",
    f"def f(x: 'nosuch'):\n    {DOC}": f"{NO_SCHEMA} (x: 'nosuch': name 'nosuch' is not",
    f"def f(x: tuple[int, ...]):\n    {DOC}": f"{NO_SCHEMA} (x: tuple[int, ...]: ",
    f"def f(x: 1 / 0):\n    {DOC}": "importing it fails: ZeroDivisionError (division by zero) at line 1",
    "def f(x: str):\n    'Adds.\\n\\nArgs:\\n  x: a (choices: [1, 2])'": f"{NO_SCHEMA} (x: str: ",
    "def f(x: str):\n    'Adds.\\n\\nArgs:\\n  x: a (choices: red)'": f"{NO_SCHEMA} (x: str: ",
    "def f(*x: int):\n    'Adds.'": "f: x cannot be named in a call",
    "async def f(x: int):\n    'Adds.'": "f is async or a generator",
    "raise ValueError('no')": "importing it fails: ValueError",
    "import nowhere_at_all": "importing it fails: ",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_file_that_has_no_tools_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would be cut in the line
    Path("mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(ToolsFault) as fault:
        load(["mine.py"])
    (line,) = fault.value.faults
    assert line.startswith(f"--tools mine.py: {FAULTS[text]}") and "\n" not in line


@pytest.mark.parametrize("text", ["import os\nos._exit(3)", "raise ValueError('no')"])
def test_tools_that_cannot_be_loaded_are_no_answers(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(EpisodeError):
        use(ToolsSpec((f"{tmp_path}/mine.py",)), lambda boxes: boxes.start("a"))


def test_all_faults_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def calculate(x: int):\n    'Adds.\\n\\n    Args:\\n        x: one\\n    '\n")
    with pytest.raises(ToolsFault) as fault:
        load(["calculator", "calculator", "nope", "nowhere.py"])
    assert [line.split(":")[0] for line in fault.value.faults] == [
        "--tools calculator",
        "--tools nope",
        "--tools nowhere.py",
    ]
    with pytest.raises(ToolsFault, match="--tools: calculate is in calculator and "):
        load(["calculator", f"{tmp_path}/a.py"])


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(page.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    spec = ToolsSpec((f"{tmp_path}/mine.py",))
    assert list(load(spec.sources)) == ["note"]
    assert use(spec, lambda boxes: boxes.call("a", [call("note", text=text) for text in "xy"])) == [
        '["x"]',
        '["x", "y"]',
    ]

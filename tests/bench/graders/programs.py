"""Outputs of programs and results of functions beside LiveCodeBench's and APPS's testing utilities."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench.graders.peers import Peer, ask
from tests.bench.graders.tally import Case, Tally, compare

# APPS compiles by pyext, which Python 3.11 cannot import; this is the one function that it takes of it.
PYEXT = """
import types
class RuntimeModule:
    def from_string(name, _, source):
        module = types.ModuleType(name)
        exec(source, module.__dict__)
        return module
sys.modules["pyext"] = types.SimpleNamespace(RuntimeModule=RuntimeModule)
import argparse, builtins
"""
# Questions are [inputs and outputs, code]; a program is right where each of its tests is True.
LIVECODEBENCH = Peer(
    "LiveCodeBench's testing_util",
    "from lcb_runner.evaluation import testing_util",
    "all(each is True for each in testing_util.run_test({'input_output': json.dumps(asked[0])}, asked[1])[0])",
    ("numpy", "tqdm"),
    ("LiveCodeBench",),
    10,
)
APPS = Peer(
    "APPS's testing_util",
    PYEXT + "import testing_util",
    "all(each is True for each in testing_util.run_test({'input_output': asked[0]}, test=asked[1]))",
    ("numpy",),
    ("apps/eval",),
    10,
)
OUTPUTS = (
    *("7", "0", "-12", "3.5", "0.333333333", "1e-07", "12345678901234567890", "YES", "No", "abc def", "1 2 3", "inf"),
    *("1\n2\n3", "3 1\n2 5", "0.5 1.25\n2.0", "Case #1: 5\nCase #2: 7", "a b\nc d", "[1, 2]", "1000000007", "001"),
)
CHANGED: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "line end": lambda text: f"{text}\n\n",
    "blanks behind": lambda text: text.replace("\n", "  \n") + "  ",
    "blanks in front": lambda text: f"  {text}",
    "two blanks": lambda text: text.replace(" ", "  "),
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "no blanks": lambda text: text.replace(" ", ""),
    "one line": lambda text: text.replace("\n", " "),
    "upper case": str.upper,
    "lower case": str.lower,
    "a decimal": lambda text: f"{text}.0" if text.lstrip("-").isdigit() else text,
    "a little more": lambda text: str(float(text) + 1e-9) if "." in text and " " not in text else text,
    "a bit more": lambda text: str(float(text) + 1e-3) if "." in text and " " not in text else text,
    "another digit": lambda text: text[:-1] + str((int(text[-1]) + 1) % 10) if text[-1].isdigit() else text,
    "lines turned": lambda text: "\n".join(reversed(text.split("\n"))),
    "words turned": lambda text: "\n".join(" ".join(reversed(line.split())) for line in text.split("\n")),
    "a line more": lambda text: f"{text}\n1",
    "a line less": lambda text: text.rpartition("\n")[0],
    "a word more": lambda text: f"{text} 1",
    "nothing": lambda _: "",
    "a sign": lambda text: f"+{text}",
    "a zero in front": lambda text: f"0{text}" if text[:1].isdigit() else text,
    "an explanation": lambda text: f"The answer is {text}",
}
RESULTS: tuple[Any, ...] = (3, -1, 2.5, "abc", True, [1, 2], [[1], [2]], ["a", "b"], {"a": 1}, [0.1, 0.2])
RETURNED: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda value: value,
    "as text": str,
    "in a list": lambda value: [value],
    "a tuple": lambda value: tuple(value) if isinstance(value, list) else value,
    "a float": lambda value: float(value) if isinstance(value, int) else value,
    "a little more": lambda value: value + 1e-9 if isinstance(value, float) else value,
    "another": lambda value: value + 1 if isinstance(value, (int, float)) else "zz",
    "turned": lambda value: value[::-1] if isinstance(value, (list, str)) else value,
    "nothing": lambda _: None,
}


def tasks() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield inputs and outputs with a program: each change of each output, each change of each result."""
    for output in OUTPUTS:
        for printed in dict.fromkeys(change(output) for change in CHANGED.values()):
            yield {"inputs": ["1\n"], "outputs": [output]}, f"x = input()\nprint({printed!r})\n"
    for result in RESULTS:
        for returned in dict.fromkeys(repr(change(result)) for change in RETURNED.values()):
            source = f"class Solution:\n    def solve(self, x):\n        return {returned}\n"
            yield {"inputs": [[1]], "outputs": [result], "fn_name": "solve"}, source


def compared(copies: Path) -> list[Tally]:
    """Return what both utilities say beside the rule `code`."""
    asked = list(tasks())
    tallies = []
    for peer in (LIVECODEBENCH, APPS):
        questions = [(_lived(truth) if peer is LIVECODEBENCH else truth, code) for truth, code in asked]
        verdicts = ask(peer, copies, questions)
        cases: list[Case] = [
            ("code", f"```python\n{code}```", truth, theirs)
            for (truth, code), theirs in zip(questions, verdicts, strict=True)
        ]
        tallies.append(compare(peer.name, cases))
    return tallies


def _lived(truth: dict[str, Any]) -> dict[str, Any]:
    """A task as LiveCodeBench has it: arguments a line of JSON each, and results as JSON."""
    if "fn_name" not in truth:
        return truth
    inputs = ["\n".join(map(json.dumps, arguments)) for arguments in truth["inputs"]]
    return {**truth, "inputs": inputs, "outputs": [json.dumps(output) for output in truth["outputs"]]}

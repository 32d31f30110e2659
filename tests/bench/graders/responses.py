"""Published responses of real models: BIG-Bench Hard (Codex), GAOKAO-Bench (GPT-4, in Chinese), APPS (CodeRL)."""

import json
import re
from pathlib import Path
from typing import Any

from tests.bench.graders.tally import Case, Tally, compare

OPTION = re.compile(r"\([A-R]\)")
NUMBERS = ("object_counting", "multistep_arithmetic_two")
SINGLE = ("Biology", "Geography", "History", "Political_Science", "Math_I_", "Math_II", "English_MCQs", "Chinese_Lang")
CODERL = "data/APPS/train"


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def bbh(folder: Path) -> list[Tally]:
    """Codex's chains of thought, graded as their project does: what follows 'the answer is', less its full stop."""
    cases: dict[str, list[Case]] = {"choice": [], "number": [], "text": []}
    for path in sorted(folder.glob("*-255000.json")):
        for row in _json(path)["outputs"]:
            truth, response = row["target"], row["prediction"]
            given = response.rpartition("the answer is ")[2].strip()
            rule = "choice" if OPTION.fullmatch(truth) else "number" if path.name.startswith(NUMBERS) else "text"
            cases[rule].append((rule, response, truth, float(given.removesuffix(".") == truth)))
    return [compare(f"BIG-Bench Hard, Codex's chains of thought, `{rule}`", rows) for rule, rows in cases.items()]


def gaokao(folder: Path) -> Tally:
    """GPT-4's responses to questions with one right letter, with the letter that the project found in them."""
    cases: list[Case] = []
    for path in sorted(folder.glob("*.json")):
        for row in _json(path)["example"] if any(subject in path.name for subject in SINGLE) else ():
            truth = row["standard_answer"]
            if len(truth) == 1 and len(truth[0]) == 1:
                cases.append(("choice", row["model_output"], truth[0], float(row["model_answer"] == truth)))
    return compare("GAOKAO-Bench, GPT-4's responses and their verdicts", cases)


def apps(folder: Path) -> list[Tally]:
    """Rows of APPS with their own solutions, and with programs of a model and the verdicts that CodeRL publishes."""
    solutions: list[Case] = []
    generated: list[Case] = []
    for task in sorted((folder / CODERL).iterdir()):
        tests = (task / "input_output.json").read_text(encoding="utf-8")
        solutions += [("code", f"```python\n{code}\n```", tests, 1.0) for code in _json(task / "solutions.json")]
        for name in ("gen_solutions.json", "baseline_solutions.json"):
            generated += [
                ("code", f"```python\n{program['code']}\n```", tests, float(program["result"] is True))
                for program in _json(task / name)
            ]
    return [compare("APPS, own solutions", solutions), compare("APPS, CodeRL's programs and their verdicts", generated)]

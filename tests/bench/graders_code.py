"""Public sets of programming tasks, graded by the rule `code`: own solutions must score 1, empty and broken ones 0.

    .venv/bin/python -m tests.bench.graders_code FILE.jsonl ... [--show 5] [--plain]

Files as their projects publish them: HumanEval (openai/human-eval, MIT), MBPP (google-research, CC-BY 4.0), EvalPlus
with a column `test` (Apache 2.0), APPS (hendrycks/apps, MIT), LiveCodeBench. Nothing of them is kept here. A solution
is broken in one place: a number, a comparison, an operator, a result. It may still pass weak tests: with ``--plain``
every program in Python's tests also runs in a bare interpreter, with no sandbox (for files that you trust), and both
must agree.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from data.formats.presets import PRESETS
from reward.entry import compute_score
from reward.rules import code_tests
from reward.support.errors import GroundTruthError

Task = tuple[str, Any, dict[str, Any], str]  # name, ground truth, extra_info, solution
Graded = tuple[str, str, Any, dict[str, Any], str]  # name, kind of program, ground truth, extra_info, code
SECONDS = 20.0  # of a bare interpreter


def tasks(path: Path, plus: bool = False) -> Iterator[Task]:
    """Yield the tasks of a file that come with a solution; ``plus``: MBPP+ by its column ``test``."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        if plus and "test" in row:
            row["test_list"] = [row["test"]]
        name = f"{path.stem} {row.get('task_id', row.get('problem_id', number))}"
        preset = next((known for known in PRESETS if known.data_source == "code" and known.columns <= row.keys()), None)
        if preset is None:
            preset = next((known for known in PRESETS if known.columns <= row.keys()), None)
        if preset is not None and ("test" in row or "test_list" in row):
            made = preset.read(row)
            yield name, made["ground_truth"], made["extra_info"], made["extra_info"]["solution"]
            continue
        solutions = row.get("solutions") or row.get("solution") or "[]"
        solutions = json.loads(solutions) if isinstance(solutions, str) and solutions.startswith("[") else solutions
        for place, solution in enumerate([solutions] if isinstance(solutions, str) else solutions):
            yield f"{name}.{place}", row.get("input_output") or row, {}, solution


class Breaker(ast.NodeTransformer):
    """Breaks a program in one place."""

    def __init__(self, kind: type[ast.AST], change: Callable[[Any], ast.AST]) -> None:
        self._kind, self._change, self.done = kind, change, False

    def visit(self, node: ast.AST) -> ast.AST:
        """Change the first node of the kind."""
        if not self.done and isinstance(node, self._kind) and (changed := self._change(node)) is not node:
            self.done = True
            return ast.copy_location(changed, node)
        return super().generic_visit(node)


def _number(node: ast.Constant) -> ast.AST:
    plain = type(node.value) in (int, float)
    return ast.Constant(node.value + 1) if plain else node  # type: ignore[operator]


BREAKS: dict[str, tuple[type[ast.AST], Callable[[Any], ast.AST]]] = {
    "returns nothing": (ast.Return, lambda node: ast.Return(ast.Constant(None)) if node.value else node),
    "number plus 1": (ast.Constant, _number),
    "comparison turned": (ast.Compare, lambda node: ast.UnaryOp(ast.Not(), node)),
    "other operator": (
        ast.BinOp,
        lambda n: ast.BinOp(n.left, ast.Sub() if isinstance(n.op, ast.Add) else ast.Add(), n.right),
    ),
}


def broken(solution: str) -> Iterator[tuple[str, str]]:
    """Yield wrong programs made of a right one."""
    yield "nothing", "pass"
    for name, (kind, change) in BREAKS.items():
        breaker = Breaker(kind, change)
        try:
            tree = ast.fix_missing_locations(breaker.visit(ast.parse(solution)))
            if breaker.done:
                yield name, ast.unparse(tree)
        except (SyntaxError, ValueError, RecursionError):
            return


def plain(one: Graded) -> str:
    """Return what a bare interpreter makes of a program: its tests are appended to it."""
    _, _, truth, extra, code = one
    job = code_tests.job(truth, extra)
    parts = [extra.get("code_prompt") or "", code, job["setup"], job["tests"]]
    parts += [f"check({job['entry_point']})"] if job["entry_point"] else []
    source = "\n\n".join(parts)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-"], input=source, text=True, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "0"
    return "1" if done.returncode == 0 else "0"


def grade(one: Graded) -> tuple[str, str, str]:
    """Return name, kind and outcome."""
    name, kind, truth, extra, code = one
    try:
        code_tests.check(truth, extra)
    except GroundTruthError as error:
        return name, kind, f"refused: {error}"
    result = compute_score("code", f"```python\n{code}\n```", truth, extra)
    return name, kind, "unscored" if result["unscored"] else f"{result['score']:g}"


def main() -> None:
    """Print a Markdown table of counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--plain", action="store_true", help="run each program in a bare interpreter too, and compare")
    parser.add_argument("--plus", action="store_true", help="grade MBPP+ by EvalPlus's own tests, its column test")
    words = parser.parse_args()
    print("| Set | Program | Tried | Score 1 | Score 0 | No verdict | Not as due |\n|---|---|---|---|---|---|---|")
    for path in words.files:
        own = [(name, "own solution", truth, extra, code) for name, truth, extra, code in tasks(path, words.plus)]
        wrong = [
            (name, kind, truth, extra, code)
            for name, _, truth, extra, solution in own
            for kind, code in broken(solution)
        ]
        with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            graded = list(pool.map(grade, own + wrong))
            due = ["1"] * len(own) + ["0"] * len(wrong)
            if words.plain:
                due = list(pool.map(plain, own + wrong))
        for kind in dict.fromkeys(kind for _, kind, _ in graded):
            pairs = [
                (name, outcome, wanted)
                for (name, graded_kind, outcome), wanted in zip(graded, due, strict=True)
                if graded_kind == kind
            ]
            outcomes = Counter(outcome for _, outcome, _ in pairs)
            ones, zeros, tried = outcomes["1"], outcomes["0"], len(pairs)
            other = [
                f"<!-- {name}: {outcome}, not {wanted} -->" for name, outcome, wanted in pairs if outcome != wanted
            ]
            print(f"| {path.stem} | {kind} | {tried} | {ones} | {zeros} | {tried - ones - zeros} | {len(other)} |")
            print("\n".join(other[: words.show]), end="\n" * bool(other), flush=True)


if __name__ == "__main__":
    main()

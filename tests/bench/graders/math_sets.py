"""Mathematics beside public sets: tests, solutions, rewritten answers, published verdicts."""

import ast
import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reward.rules.parsing import answer
from tests.bench.graders import math_variants, verl
from tests.bench.graders.tally import Case, Tally, compare, lines

EVERY = 50  # of the rewritten answers, one in so many is asked of verl's scorers, which are slow


def truths(path: Path) -> list[str]:
    """Return the answers of MATH's rows."""
    return [answer.boxed(row["solution"]) or "" for row in lines(path)]


def math_verify(folder: Path) -> Tally:
    """The cases of Math-Verify's own tests: truth, response and verdict."""
    cases: list[Case] = []
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "parametrize"):
                continue
            names = [name.strip() for name in str(ast.literal_eval(node.args[0])).strip("()").split(",")]
            if not {"gold", "pred"} <= set(names) or not isinstance(node.args[1], ast.List):
                continue
            for case in node.args[1].elts:
                try:
                    values = dict(zip(names, ast.literal_eval(case), strict=True))
                except ValueError:  # computed, not written down
                    continue
                theirs = values.get("expected", values.get("result"))
                cases.append(("math", values["pred"], values["gold"], float(theirs)))
    return compare("Math-Verify, its tests", cases)


def solutions(path: Path) -> Tally:
    """MATH's own solutions, which are right."""
    rows = lines(path)
    return compare(
        "MATH, its solutions", [("math", r["solution"], answer.boxed(r["solution"]) or "", 1.0) for r in rows]
    )


def minerva_forms(path: Path) -> Tally:
    """MATH's answers in the forms that Minerva's prompt and its users write."""
    forms: tuple[Callable[[str], str], ...] = (
        lambda truth: f"Final Answer: The final answer is ${truth}$. I hope it is correct.",
        lambda truth: f"The final answer is:\n\n\\[\n{truth}\n\\]\n\nI hope it is correct.",
        lambda truth: f"So it is. The answer is\n\n$${truth}$$",
    )
    return compare("MATH in Minerva's forms", [("math", f(truth), truth, 1.0) for truth in truths(path) for f in forms])


def equivalence(path: Path, grader: Path) -> Tally:
    """Answers of MATH beside those of other rows, and rewritten ones, with hendrycks/math's verdict."""
    spec = importlib.util.spec_from_file_location("math_equivalence", grader)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = truths(path)
    others = random.Random(0).sample(own, len(own))
    rewritten = [truth.replace("\\frac", "\\dfrac").replace(" ", "") for truth in own]
    pairs = [*zip(own, others, strict=True), *zip(own, rewritten, strict=True)]
    cases: list[Case] = [("math", f"\\boxed{{{b}}}", a, float(module.is_equiv(a, b))) for a, b in pairs]
    return compare("hendrycks/math, is_equiv", cases)


def rewritten(path: Path) -> list[Tally]:
    """MATH's answers rewritten, equal and wrong; and what verl's scorers say of some of them."""
    cases = list(math_variants.rewritten(truths(path)))
    made: list[Case] = [
        ("math", f"So the answer is $\\boxed{{{text}}}$.", truth, right) for truth, text, right in cases
    ]
    tallies = [
        compare("MATH's answers rewritten, still equal", [case for case in made if case[3]]),
        compare("MATH's answers rewritten, wrong", [case for case in made if not case[3]]),
    ]
    asked = verl.math(cases[::EVERY])
    return tallies + [compare(f"verl's {name}, on some of these", verdicts) for name, verdicts in asked.items()]


def graded(path: Path) -> Tally:
    """Real responses to MATH with the verdicts of the project that published them."""
    cases: list[Case] = [
        ("math", response, row["gt"], float(verdict))
        for row in lines(path)
        for response, verdict in zip(row["code"], row["score"], strict=True)
    ]
    return compare("MATH, real responses with Qwen2.5-Math's verdicts", cases)


def plain_answer(row: dict[str, Any]) -> str | None:
    """Return the one answer of a row of a set; None where it is a text with formulas, which cannot stand in one."""
    truth = row.get("answer") or row.get("final_answer")
    bare = str(truth[0] if isinstance(truth, list) else truth or "").strip().strip("$")
    return bare if bare and "$" not in bare else None


def own_answers(paths: list[Path]) -> Tally:
    """Every answer of a set in a box, in Minerva's form and in Chinese, as a response to itself."""
    forms = ("So \\boxed{{{0}}}.", "The final answer is ${0}$. I hope it is correct.", "答案是${0}$。")
    answers = [truth for path in paths for row in lines(path) if (truth := plain_answer(row))]
    cases: list[Case] = [("math", form.format(truth), truth, 1.0) for truth in answers for form in forms]
    return compare("own answers of " + ", ".join(path.parent.name for path in paths), cases)

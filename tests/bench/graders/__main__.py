"""The kit's rules beside other projects' graders, tests and labels: tried, agree, differ.

    .venv/bin/python -m tests.bench.graders COPIES [--only NAME ...] [--show 5]

COPIES is a folder of check-outs, each under the name of its repository, none of which is part of this one; a set of
which a copy is missing is named and left out. Beside them: ``MATH/test.jsonl`` (rows with ``solution``) and
``nltk_data/tokenizers/punkt_tab``. Graders run in a Python of their own, which ``uv`` makes of packages of PyPI.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.graders import choices, gsm8k, ifeval, math_peers, math_sets, programs, responses, short_answers
from tests.bench.graders.tally import Tally

MATH = "MATH/test.jsonl"
QWEN = "Qwen2.5-Math/evaluation/data"
ANSWERS = ("college_math", "gaokao2023en", "olympiadbench", "minerva_math")
OWN = ("olympiadbench", "carp_en", "cmath", "gaokao2023en", "aime24", "amc23")
CHECKERS = "lm-evaluation-harness/lm_eval/tasks/ifeval/instructions.py"
RESPONSES = ("IFEval/resources/prompt_response.jsonl", "ruIFEval/data/response_gemini_pro_v0.1.jsonl")
PROMPTS = "instruction_following_eval/instruction_following_eval/data/input_data.jsonl"
BBH = "BIG-Bench-Hard/code-davinci-002-outputs/code-davinci-002-cot"
GAOKAO = "GAOKAO-Bench/Results/gpt_4_0314_obj"
PUNKT = "nltk_data/tokenizers/punkt_tab"


@dataclass(frozen=True)
class Comparison:
    """What is compared, and the files and folders of the copies that it reads."""

    run: Callable[[Path], list[Tally]]
    needs: tuple[str, ...] = ()


def _published(at: Path) -> list[Path]:
    return sorted((at / "abel" / "outputs").glob("gsm8k*/*.jsonl"))


def _sets(at: Path, names: tuple[str, ...]) -> list[Path]:
    return [at / QWEN / name / "test.jsonl" for name in names]


COMPARISONS: dict[str, Comparison] = {
    "choice_forms": Comparison(lambda at: [choices.forms()]),
    "mmlu": Comparison(lambda at: [choices.mmlu(at / QWEN / "mmlu_stem/test.jsonl")], (QWEN,)),
    "mmlu_pro": Comparison(lambda at: [choices.mmlu_pro(at / "MMLU-Pro/eval_results")], ("MMLU-Pro/eval_results",)),
    "math_verify": Comparison(lambda at: [math_sets.math_verify(at / "Math-Verify/tests")], ("Math-Verify/tests",)),
    "math": Comparison(lambda at: [math_sets.solutions(at / MATH), math_sets.minerva_forms(at / MATH)], (MATH,)),
    "is_equiv": Comparison(
        lambda at: [math_sets.equivalence(at / MATH, at / "math/modeling/math_equivalence.py")],
        (MATH, "math/modeling/math_equivalence.py"),
    ),
    "math_rewritten": Comparison(lambda at: math_sets.rewritten(at / MATH), (MATH,)),
    "math_responses": Comparison(
        lambda at: [math_sets.graded(at / QWEN / "eval_rm_maj_example/math_cot_100.jsonl")], (QWEN,)
    ),
    "own_answers": Comparison(lambda at: [math_sets.own_answers(_sets(at, OWN))], (QWEN,)),
    "math_peers": Comparison(
        lambda at: math_peers.answers(at, _sets(at, ANSWERS), at / MATH),
        (QWEN, MATH, "prm800k/prm800k/grading", "lm-evaluation-harness/lm_eval/tasks/minerva_math"),
    ),
    "response_peers": Comparison(math_peers.responses),
    "gsm8k_labels": Comparison(
        lambda at: [gsm8k.labels(at / "grade-school-math/grade_school_math/data/example_model_solutions.jsonl")],
        ("grade-school-math/grade_school_math/data/example_model_solutions.jsonl",),
    ),
    "gsm8k_published": Comparison(lambda at: gsm8k.published(_published(at)), ("abel/outputs/gsm8k",)),
    "short_answers": Comparison(
        lambda at: short_answers.compared(at, at / "SQuAD-explorer/models/1.1"),
        ("SQuAD-explorer/models/1.1", "triviaqa/evaluation", "allennlp-reading-comprehension/allennlp_rc"),
    ),
    "ifeval": Comparison(
        lambda at: ifeval.google(at, at / PROMPTS, [at / path for path in RESPONSES if (at / path).exists()]),
        (PROMPTS, PUNKT),
    ),
    "ifbench": Comparison(
        lambda at: ifeval.harness(at, at / "IFBench/data/sample_output.jsonl"),
        ("IFBench/data/sample_output.jsonl", CHECKERS, PUNKT),
    ),
    "bbh": Comparison(lambda at: responses.bbh(at / BBH), (BBH,)),
    "gaokao": Comparison(lambda at: [responses.gaokao(at / GAOKAO)], (GAOKAO,)),
    "apps": Comparison(lambda at: responses.apps(at / "CodeRL"), (f"CodeRL/{responses.CODERL}",)),
    "programs": Comparison(programs.compared, ("LiveCodeBench/lcb_runner/evaluation", "apps/eval/testing_util.py")),
}


def main() -> None:
    """Print a Markdown table as it grows, then some differences of each comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("copies", type=Path, help="a folder of check-outs, each under the name of its repository")
    parser.add_argument("--only", nargs="*", choices=sorted(COMPARISONS), default=list(COMPARISONS))
    parser.add_argument("--show", type=int, default=5, help="differences printed of each comparison")
    at = parser.parse_args()
    tallies: list[Tally] = []
    print("| Set | Tried | Agree | Differ | of these right here, wrong there |\n|---|---|---|---|---|", flush=True)
    for name in at.only:
        if missing := [need for need in COMPARISONS[name].needs if not (at.copies / need).exists()]:
            print(f"<!-- {name} is left out: there is no {', '.join(missing)} in {at.copies} -->")
            continue
        for t in COMPARISONS[name].run(at.copies):
            print(f"| {t.name} | {t.tried:,} | {t.agree:,} | {len(t.differences):,} | {t.lenient:,} |", flush=True)
            tallies.append(t)
    for tally in tallies:
        for text in tally.differences[: at.show]:
            print(f"- {tally.name}: {text}")


if __name__ == "__main__":
    main()

"""Mathematics beside other graders: answers of five sets rewritten, equal and wrong, and rows of the attacks."""

import random
from pathlib import Path

from tests.bench.graders import math_variants
from tests.bench.graders.math_sets import plain_answer, truths
from tests.bench.graders.peers import Peer, ask
from tests.bench.graders.tally import Case, Tally, lines, scores

ROWS = Path(__file__).parents[2] / "attacks" / "answers.jsonl"
PER_SET = 300  # rewritten answers
SYMPY = ("sympy==1.13.3", "antlr4-python3-runtime==4.11.1")
NO_DATASETS = "import types; sys.modules['datasets'] = types.SimpleNamespace(Dataset=None)\n"
# Questions are [truth, answer, response].
ANSWERS = (
    Peer(
        "Minerva's is_equiv (lm-evaluation-harness)",
        NO_DATASETS + "import utils\nutils.is_equiv('1', 'x')",  # loads its parser, before the forks
        "utils.is_equiv(*map(utils.normalize_final_answer, asked[:2]))",
        (*SYMPY, "math-verify"),
        ("lm-evaluation-harness/lm_eval/tasks/minerva_math",),
        10,
    ),
    Peer(
        "PRM800K's grade_answer",
        "from grading.grader import grade_answer",
        "grade_answer(asked[1], asked[0])",
        ("sympy", "pylatexenc"),
        ("prm800k/prm800k",),
        10,
    ),
    Peer(
        "Qwen2.5-Math, with its own extraction",
        "from parser import extract_answer, strip_string\nfrom grader import math_equal\nmath_equal('x', 'y')",
        "math_equal(strip_string(extract_answer(asked[2], 'math')), strip_string(asked[0]))",
        (*SYMPY, "regex", "word2number", "numpy"),
        ("Qwen2.5-Math/evaluation", "Qwen2.5-Math/evaluation/latex2sympy"),
        10,
    ),
)
# On whole responses; questions are [truth, response].
RESPONSES = (
    Peer(
        "math-verify, with its own extraction",
        "from math_verify import parse, verify",
        "verify(parse('$' + asked[0] + '$'), parse(asked[1]))",
        seconds=30,
    ),
    Peer(
        "mathruler, which reads boxes alone",
        "from mathruler.grader import extract_boxed_content, grade_answer",
        "grade_answer(extract_boxed_content(asked[1]), asked[0])",
        ("mathruler==0.1.0", "sympy", "pylatexenc", "tqdm"),
        seconds=30,
    ),
)


def answers(copies: Path, sets: list[Path], math: Path) -> list[Tally]:
    """Rewritten answers of sets beside what is known of them, and beside each grader."""
    draw, chosen = random.Random(0), []
    for own in [*([plain_answer(row) for row in lines(path)] for path in sets), truths(math)]:
        made = list(math_variants.rewritten([truth for truth in own if truth]))
        chosen += draw.sample(made, min(PER_SET, len(made)))
    asked = [(truth, text, f"So the answer is $\\boxed{{{text}}}$.") for truth, text, _ in chosen]
    cases: list[Case] = [("math", response, truth, 0.0) for truth, _, response in asked]
    ours = scores(cases)
    tallies = [Tally("answers of five sets rewritten, what is known of them")]
    verdicts = [[right for _, _, right in chosen]]
    for peer in ANSWERS:
        tallies.append(Tally(f"{peer.name}, on these"))
        verdicts.append(ask(peer, copies, asked))
    for tally, theirs in zip(tallies, verdicts, strict=True):
        for (truth, text, _), mine, their, (_, _, right) in zip(asked, ours, theirs, chosen, strict=True):
            tally.add(mine, their, f"known {right:g}: truth {truth[:60]!r}, answer {text[:90]!r}")
    return tallies


def responses(copies: Path) -> list[Tally]:
    """The rows of the attacks, each with the score that it is worth, beside graders of whole responses."""
    rows = [row for row in lines(ROWS) if row["rule"] == "math" and isinstance(row["truth"], str)]
    ours = scores([("math", row["response"], row["truth"], 0.0) for row in rows])
    tallies = []
    for peer in RESPONSES:
        theirs = ask(peer, copies, [(row["truth"], row["response"]) for row in rows])
        tally = Tally(f"{peer.name}, on answers.jsonl")
        for row, mine, their in zip(rows, ours, theirs, strict=True):
            tally.add(
                mine, their, f"worth {row['score']:g}: truth {row['truth'][:60]!r}, response {row['response'][-90:]!r}"
            )
        tallies.append(tally)
    return tallies

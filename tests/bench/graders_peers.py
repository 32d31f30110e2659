"""The kit's rules beside graders of other projects that PyPI has: tried, agree, differ by intent (listed).

    .venv/bin/python -m tests.bench.graders_peers [ROWS.jsonl ...] [--peer NAME ...] [--show N]

Rows are those of ``tests/attacks/answers.jsonl`` (``rule``, ``truth``, ``response``, ``score``), and of files that are
given. ``score`` is what the answer is worth: a difference in which the kit says so is by intent. Peers other than
math-verify, which the kit has, are installed by ``uv run`` into its cache, never into the kit's environment.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bench.graders import compare, lines

ROWS = Path(__file__).parents[1] / "attacks" / "answers.jsonl"
# A grader reads lines of [response, truth] and prints 1 or 0 a line; what breaks is 0 there.
LOOP = """
import json, sys
sys.stdout, out = sys.stderr, sys.stdout
{setup}
for line in sys.stdin:
    response, truth = json.loads(line)
    try:
        right = bool({verdict})
    except Exception:
        right = False
    print(int(right), file=out, flush=True)
"""
PEERS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str, str]] = {  # name: (rules, packages, set-up, verdict)
    "math-verify": (
        ("math",),
        (),
        "from math_verify import parse, verify",
        "verify(parse('$' + truth + '$'), parse(response))",
    ),
    "mathruler": (
        ("math",),
        ("mathruler==0.1.0", "sympy", "pylatexenc", "tqdm"),
        "from mathruler.grader import extract_boxed_content, grade_answer",
        "grade_answer(extract_boxed_content(response), truth)",
    ),
}


def ask(name: str, asked: list[tuple[str, Any]]) -> list[float]:
    """Return a peer's verdicts.

    Raises:
        SystemExit: it cannot be installed, or ended early.
    """
    _, packages, setup, verdict = PEERS[name]
    command = [sys.executable]
    if packages:
        uv = str(Path(sys.executable).with_name("uv"))
        command = [uv, "run", "--quiet", "--isolated", "--no-project", "--python", sys.executable]
        command += [part for package in packages for part in ("--with", package)] + ["python"]
    questions = "".join(json.dumps(each) + "\n" for each in asked)
    source = LOOP.format(setup=setup, verdict=verdict)
    done = subprocess.run([*command, "-c", source], input=questions, capture_output=True, text=True, check=False)
    verdicts = [float(each) for each in done.stdout.split()]
    if len(verdicts) != len(asked):
        raise SystemExit(f"{name}: {len(verdicts)} verdicts of {len(asked)}: {done.stderr.strip()[-300:]}")
    return verdicts


def main() -> None:
    """Print a Markdown table, and the differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, nargs="*", help="more rows, as in tests/attacks/answers.jsonl")
    parser.add_argument("--peer", choices=sorted(PEERS), nargs="*", default=sorted(PEERS))
    parser.add_argument("--show", type=int, default=1000, help="differences printed of each peer")
    at = parser.parse_args()
    rows = [row for path in (ROWS, *at.rows) for row in lines(path)]
    print("| Peer | Tried | Agree | Differ by intent | Differ, and the kit is wrong |\n|---|---|---|---|---|")
    listed = []
    for name in at.peer:
        asked = [row for row in rows if row["rule"] in PEERS[name][0] and isinstance(row["truth"], (str, list))]
        verdicts = ask(name, [(row["response"], row["truth"]) for row in asked])
        cases = [
            (row["rule"], row["response"], row["truth"], verdict) for row, verdict in zip(asked, verdicts, strict=True)
        ]
        tally = compare(name, cases)
        wanted = compare(name, [(row["rule"], row["response"], row["truth"], float(row["score"])) for row in asked])
        differ = len(tally.differences)
        wrong = len(wanted.differences)
        print(f"| {name} | {tally.tried:,} | {tally.agree:,} | {differ - wrong:,} | {wrong:,} |", flush=True)
        listed += [f"- {name}: {text}" for text in tally.differences[: at.show]]
        listed += [f"- {name}, the kit is wrong: {text}" for text in wanted.differences]
    print("\n".join(listed))


if __name__ == "__main__":
    main()

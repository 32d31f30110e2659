"""Does sampling ahead pay? Seconds of a step with a slow judge, without --async and with it, one run after the other.

    .venv/bin/python -m tests.bench.ahead [--latency 2] [--steps 14] [--staleness 1] [train.sh arguments]

The work is that of ``tests.bench.step``, scored by a judge that answers each question after ``--latency`` seconds, all
of a batch at once. Medians over the steps after the first three.
"""

import argparse
import os
import statistics

from tests.bench.step import FIRST, record
from tests.support.judge_server import JudgeServer, judge_of_sums


def main() -> None:
    """Run the three; print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of the judge")
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--staleness", type=int, default=1, help="--max_staleness")
    options, arguments = parser.parse_known_args()
    os.environ["OPENAI_API_KEY"] = "none"
    ahead = ("--max_staleness", str(options.staleness))
    first = None
    print(f"judge of {options.latency:g} s, --max_staleness {options.staleness}\n")
    print("| --async | seconds a step | |\n|---|---|---|")
    with JudgeServer(judge_of_sums, latency=options.latency, keep=False) as server:
        for name, flags in (("off", ()), ("overlap", ahead), ("separate", ahead)):
            said = [
                "--total_steps",
                str(options.steps),
                *server.flags(),
                "--rm_concurrency",
                "256",
                "--async",
                name,
                *flags,
                *arguments,
            ]
            steps, _ = record(said)
            seconds = statistics.median(step["timing_s/step"] for step in steps[FIRST:])
            first = first or seconds
            print(f"| `{name}` | {seconds:.2f} | {first / seconds:.2f} times |", flush=True)


if __name__ == "__main__":
    main()

"""Turns of the model a second with tools: the kit's loop beside verl's own (``tool_agent``), at the same work.

    .venv/bin/python -m tests.bench.turns [--steps 8] [--rounds 2] [train.sh arguments]

Both let the model of ``--tools calculator`` answer six-digit sums, with the same prompts, limits and tool, through the
same trainer of verl and the same vLLM. Its learning rate is so small that it stays as it is. They take turns; medians
over the steps of all rounds, without the first three of each.
"""

import argparse
import statistics

from data.models import find_or_make
from tests.bench.step import BARE, FIRST, record
from trainer import ROOT

WORK = [
    *("--data", "builtin:sums", "--val_data", "builtin:sums", "--batch_size", "256", "--mini_batch_size", "256"),
    *("--max_prompt_length", "512", "--max_response_length", "128", "--lr", "1e-12", "--critic_lr", "1e-12"),
]
MULTI_TURN = "actor_rollout_ref.rollout.multi_turn"


def loops(model: str) -> dict[str, list[str]]:
    """Return the arguments of each loop."""
    verl = [
        *("--model", model, "--no_reward_check", *BARE),
        "actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent",
        f"{MULTI_TURN}.enable=true",
        f"{MULTI_TURN}.function_tool_path={ROOT / 'tests' / 'bench' / 'verl_tools.py'}",
        f"{MULTI_TURN}.format=hermes",
        f"{MULTI_TURN}.max_assistant_turns=8",
    ]
    return {"kit": ["--tools", "calculator"], "verl": verl}


def turns(step: dict[str, float]) -> float:
    """Return the model's turns of a sample, the mean of a step: verl counts the prompt and the answers as well."""
    return step["episode/turns"] if "episode/turns" in step else step["num_turns/mean"] / 2


def main() -> None:
    """Run both in turn; print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8, help="of each run")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each loop")
    options, arguments = parser.parse_known_args()
    model = find_or_make("builtin:tiny", ROOT / "outputs" / "cache", seed=1, say=print, tools="calculator")
    batch = int(WORK[WORK.index("--batch_size") + 1])
    rows: dict[str, list[dict[str, float]]] = {}
    for _ in range(options.rounds):
        for name, loop in loops(model.path).items():
            steps, _ = record([*WORK, "--total_steps", str(options.steps), *loop, *arguments])
            rows.setdefault(name, []).extend(steps[FIRST:])
    print("| Loop | turns a sample | seconds of sampling | turns a second |\n|---|---|---|---|")
    rates = {}
    for name, steps in rows.items():
        of_sample = statistics.median(map(turns, steps))
        seconds = statistics.median(step["timing_s/gen"] for step in steps)
        rates[name] = statistics.median(batch * turns(step) / step["timing_s/gen"] for step in steps)
        print(f"| {name} | {of_sample:.2f} | {seconds:.2f} | {rates[name]:.0f} |")
    print(f"\n{rates['kit'] / rates['verl']:.1f} times as many turns a second as verl's loop")


if __name__ == "__main__":
    main()

"""GSM8K: people's labels, published verdicts, verl's two readings."""

from pathlib import Path

from tests.bench.graders import verl
from tests.bench.graders.tally import Case, Tally, compare, lines


def labels(path: Path) -> Tally:
    """Model solutions with the labels of people."""
    cases: list[Case] = []
    for row in lines(path):
        truth = row["ground_truth"].rpartition("A:")[2].strip()
        for value in row.values():
            if isinstance(value, dict):
                solution = value["solution"].replace("\nA: ", "\n#### ")
                cases.append(("gsm8k", solution, truth, float(value["is_correct"])))
    return compare("GSM8K, people's labels", cases)


def published(paths: list[Path]) -> list[Tally]:
    """Published responses with their verdicts, and verl's."""
    rows = [row for path in paths for row in lines(path)]
    own: list[Case] = [("gsm8k", row["response"], str(row["gold"]), float(row["result"])) for row in rows]
    asked = verl.gsm8k([(response, truth) for _, response, truth, _ in own])
    tallies = [compare("GSM8K, published responses and their verdicts", own)]
    return tallies + [compare(f"verl's gsm8k, {name}, on these", verdicts) for name, verdicts in asked.items()]

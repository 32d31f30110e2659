"""A reward function with nothing around it, as verl's own would be: for tests/bench/step.py --bare."""


def compute_score(data_source: str, solution_str: str, ground_truth: str, **_: object) -> float:
    """Return 1 for the right answer, else 0."""
    return float(solution_str.strip() == ground_truth)

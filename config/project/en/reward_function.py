"""The reward of this project: how good one answer is, as a number."""

import re
from typing import Any


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> float:
    """Return 1 where the last whole number of an answer is the right one, else 0.

    Args:
        data_source: the column data_source of the row, to tell kinds of rows apart.
        solution_str: what the model answered.
        ground_truth: the column ground_truth of the row.
        extra_info: the other columns of the row.
    """
    numbers = re.findall(r"-?[0-9]+", solution_str)
    return 1.0 if numbers and numbers[-1] == ground_truth else 0.0

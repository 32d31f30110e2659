"""The last whole number of a response against the ground truth."""

import re

NUMBER = re.compile(r"[-+]?[0-9]+")
LONGEST = 4096  # characters looked at, from the end


def score(response: str, ground_truth: str) -> float:
    """Return 1.0 if the last whole number of ``response`` equals ``ground_truth``, else 0.0.

    Raises:
        ValueError: the ground truth is no whole number, which is a fault of the data.
    """
    wanted = int(ground_truth)
    numbers = NUMBER.findall(response[-LONGEST:])
    # A number longer than the truth could be is wrong without being converted.
    return float(bool(numbers) and len(numbers[-1].lstrip("+-0")) <= len(ground_truth) and int(numbers[-1]) == wanted)

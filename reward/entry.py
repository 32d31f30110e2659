"""The ``compute_score`` that verl calls for each response."""

from typing import Any

from reward.rules import RULES


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None
) -> dict[str, float]:
    """Score one response with the rule of its data source.

    Returns:
        ``score`` (what is trained on) and ``acc`` (the share that validation reports), the same keys always.

    Raises:
        KeyError: no rule knows ``data_source``. Never a score of 0, which would be trained on.
    """
    rule = RULES.get(data_source)
    if rule is None:
        raise KeyError(f"no rule scores data_source {data_source!r}; there are rules for {', '.join(RULES)}")
    value = rule(solution_str, ground_truth)
    return {"score": value, "acc": value}

"""Rule functions, one file a family, and the table from a row's ``data_source`` to its rule."""

from collections.abc import Callable

from reward.rules import number

Rule = Callable[[str, str], float]

RULES: dict[str, Rule] = {
    "arith": number.score,
}

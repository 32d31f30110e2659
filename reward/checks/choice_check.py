"""Do rows of multiple choice mean the letter that their rule reads? Asked without the rule's own reading."""

from collections.abc import Mapping, Sequence
from typing import Any

from reward import entry
from reward.rules import RULES
from reward.rules.parsing.choices.letters import LETTERS

Row = Mapping[str, Any]


def expected(truth: Any, choices: Sequence[str]) -> int | None:
    """Return the index of the right choice as a reader of the data would: a letter, an index from 0, or its text."""
    text = str(truth).strip()
    for options in (LETTERS, LETTERS.lower()):
        if len(text) == 1 and text in options[: len(choices)]:
            return options.index(text)
    if text.isdecimal() and len(text) < 3 and int(text) < len(choices):
        return int(text)
    return choices.index(text) if text in choices else None


def review(rows: Sequence[Row]) -> tuple[str, str]:
    """Score every letter of every row of multiple choice.

    Returns:
        What is wrong ("" where nothing is), and a remark on truths that can be read in two ways ("" without such).
    """
    ambiguous: list[str] = []
    for row in rows:
        extra = entry.user_extra_info(row.get("extra_info"))
        choices = [str(text).strip() for text in extra.get("choices") or () if not isinstance(extra["choices"], dict)]
        truth = row["reward_model"]["ground_truth"]
        index = expected(truth, choices)
        rule = RULES[row["data_source"]]
        if rule.name != "choice" or index is None:
            continue
        letters = LETTERS[: len(choices)]
        right = [letter for letter in letters if rule.score(f"The answer is ({letter}).", truth, extra) == 1.0]
        if right != [letters[index]]:
            return f"ground_truth {truth!r} of {choices} is {letters[index]}, but {right or 'no letter'} scores 1", ""
        if str(truth).isdecimal() and str(truth) in choices and choices.index(str(truth)) != index:
            ambiguous.append(str(truth))
    if not ambiguous:
        return "", ""
    remark = (
        f"{len(ambiguous)} of {len(rows)} ground truths, such as {ambiguous[0]!r}, are an index and a choice's text"
    )
    return "", f"{remark}: read as an index from 0, as in MMLU; write letters where the text is meant"

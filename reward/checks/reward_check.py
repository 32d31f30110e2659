"""Can the reward tell good answers from bad ones? Asked of real rows before a launch, and by ``check_reward``.

``python -m reward.checks.reward_check REWARD_FN RESULT`` reads rows (JSON, a list) from stdin and writes a
``RewardCheck`` to RESULT, in a process of its own, as nobody knows what a function of the user's does. REWARD_FN is
empty for the kit's rules.
"""

import asyncio
import dataclasses
import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward import custom, entry
from reward.checks import choice_check
from reward.rules import RULES, no_rule, number
from reward.support.errors import GroundTruthError, RewardError, RewardFunctionError
from reward.support.redact import redact_streams
from reward.support.secret import scrub
from reward.support.wording import counted, reason, user_code_error_text

# Shapes that a function of the user's may look for.
SHAPES = ("{}", "The answer is {}", "The answer is \\boxed{{{}}}", "#### {}", "<answer>{}</answer>")
Row = Mapping[str, Any]
Function = Callable[..., Any]


@dataclass(frozen=True)
class RewardFinding:
    """Why good and bad answers cannot be told apart."""

    at_fault: str  # data_source, ground_truth or extraction; reward_fn where it breaks
    message: str

    def __post_init__(self) -> None:
        """Scrub the message, which may be of a stranger's code."""
        object.__setattr__(self, "message", scrub(self.message))


@dataclass(frozen=True)
class RewardCheck:
    """What came of the check: what is at fault, what was compared, and the keys of a user's function's results."""

    findings: tuple[RewardFinding, ...] = ()
    lines: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()  # data_sources of which no right answer is known


def check(rows: Sequence[Row], function: Function | None = None) -> RewardCheck:
    """Score good, empty and shuffled answers of real rows.

    Args:
        rows: of verl's form, with ``data_source``, ``reward_model.ground_truth`` and perhaps ``extra_info``.
        function: the user's reward function; None for the kit's rules.
    """
    if function is not None:
        return _check_function(rows, function)
    findings = _faults_of_rows(rows)
    if findings:
        return RewardCheck(findings)
    fault, remark = choice_check.review(rows)
    if fault:
        return RewardCheck((RewardFinding("extraction", fault),))

    def by_rule(data_source: str, solution_str: str, ground_truth: Any, extra_info: Any) -> Any:
        return entry.score(data_source, solution_str, ground_truth, extra_info)

    verdict = _compare(rows, [_example(row) for row in rows], by_rule, "its rule")
    return dataclasses.replace(verdict, lines=(*verdict.lines, remark)) if remark else verdict


def _truth(row: Row) -> Any:
    return row["reward_model"]["ground_truth"]


def _extra(row: Row) -> dict[str, Any]:
    return entry.user_extra_info(row.get("extra_info"))


def _example(row: Row) -> str | None:
    return RULES[row["data_source"]].example(_truth(row), _extra(row))


def _faults_of_rows(rows: Sequence[Row]) -> tuple[RewardFinding, ...]:
    """Findings that need no scoring: a data_source without a rule, a ground truth that its rule cannot use."""
    unknown = sorted({str(row["data_source"]) for row in rows} - RULES.keys())
    if unknown:
        return (RewardFinding("data_source", no_rule(*unknown)),)
    with ThreadPoolExecutor(4) as pool:
        return tuple(finding for finding in pool.map(_fault_of_row, rows) if finding)[:1]


def _fault_of_row(row: Row) -> RewardFinding | None:
    rule = RULES[row["data_source"]]
    try:
        rule.check(_truth(row), _extra(row))
        rule.examine(_truth(row), _extra(row))
    except GroundTruthError as error:
        text = f"the rule for {row['data_source']} cannot use a ground truth: {reason(error)}"
        return RewardFinding("ground_truth", text)
    return None


def _results(rows: Sequence[Row], answers: Sequence[str], function: Function) -> list[dict[str, float]]:
    """Score one answer a row.

    Raises:
        RewardError: the grader gives no verdict.
        Exception: whatever the function raises.
    """

    async def all_of_them() -> list[dict[str, float]]:
        return [
            await custom.call(
                function,
                data_source=row["data_source"],
                solution_str=answer,
                ground_truth=_truth(row),
                extra_info=_extra(row),
            )
            for row, answer in zip(rows, answers, strict=True)
        ]

    return asyncio.run(all_of_them())


def _mean(results: Sequence[Mapping[str, float]]) -> float:
    return sum(result["score"] for result in results) / len(results) if results else 0.0


def _compare(rows: Sequence[Row], answers: Sequence[str | None], function: Function, who: str) -> RewardCheck:
    """Compare right, empty and shuffled answers, by data_source."""
    findings, lines, unchecked, keys = [], [], [], dict[str, None]()
    for source in sorted({row["data_source"] for row in rows}):
        pairs = [(r, a) for r, a in zip(rows, answers, strict=True) if r["data_source"] == source and a is not None]
        if not pairs:
            lines.append(f"{source}: not checked, as its rows do not say what a right answer looks like")
            unchecked.append(source)
            continue
        source_rows, right = [row for row, _ in pairs], [answer for _, answer in pairs]
        others = [(r, b) for (r, a), b in zip(pairs, right[1:] + right[:1], strict=True) if a != b]
        try:
            good = _results(source_rows, right, function)
            empty = _mean(_results(source_rows, [""] * len(source_rows), function))
            shuffled = _mean(_results([r for r, _ in others], [b for _, b in others], function))
        except RewardFunctionError:
            raise
        except RewardError as error:
            findings.append(
                RewardFinding("extraction", f"{source}: {who} gives no verdict on a right answer: {reason(error)}")
            )
            continue
        keys |= dict.fromkeys(key for result in good for key in result)
        means = f"right answers score {_mean(good):.2f}, empty ones {empty:.2f}, those of other rows {shuffled:.2f}"
        lines.append(f"{source}: {means} ({counted(len(source_rows), 'row')})")
        if _mean(good) <= empty or (others and _mean(good) <= shuffled):
            findings.append(RewardFinding("extraction", f"{source}: {means}; right: {right[0][-80:]!r}"))
    return RewardCheck(tuple(findings), tuple(lines), tuple(keys), tuple(unchecked))


class _Recorder:
    """A reward function that notes which keys its results have: verl reads those of a batch's first sample alone."""

    def __init__(self, function: Function) -> None:
        functools.update_wrapper(self, function, assigned=("__module__",), updated=())  # whose lines a fault names
        self.function = function
        self.first: dict[tuple[str, ...], str] = {}  # keys -> for what they were first returned

    def __call__(self, **arguments: Any) -> Any:
        """Call the function as verl does."""
        value = self.function(**arguments)
        return self._later(value, arguments) if inspect.isawaitable(value) else self._noted(value, arguments)

    async def _later(self, value: Any, arguments: Mapping[str, Any]) -> Any:
        return self._noted(await value, arguments)

    def _noted(self, value: Any, arguments: Mapping[str, Any]) -> Any:
        keys = tuple(sorted(map(str, value))) if isinstance(value, Mapping) else ("score",)
        truth, answer = str(arguments["ground_truth"])[:40], str(arguments["solution_str"])[:40]
        where = f"the answer {answer!r} to the row of {arguments['data_source']} with the ground truth {truth!r}"
        self.first.setdefault(keys, where)
        return value

    def finding(self) -> RewardFinding | None:
        """Return what is wrong with the keys; None where all results have the same."""
        if len(self.first) < 2:
            return None
        most = max(self.first, key=len)
        other = next(keys for keys in self.first if keys != most)
        odd = (set(most) ^ set(other)) - {"score"}
        has, lacks = (most, other) if odd & set(most) else (other, most)
        names = ", ".join(sorted((set(has) - set(lacks)) or odd))
        text = (
            f"its results have not the same keys: {names} is there for {self.first[has]}, not for {self.first[lacks]}"
        )
        return RewardFinding("reward_fn", f"{text}; return every key for every sample")


def _check_function(rows: Sequence[Row], function: Function) -> RewardCheck:
    """Try ``function`` on answers of all kinds; what it returns must have the same keys for all."""
    recorder = _Recorder(function)
    verdict = _tried(rows, recorder)
    ragged = recorder.finding()
    return dataclasses.replace(verdict, findings=(*verdict.findings, ragged)) if ragged else verdict


def _tried(rows: Sequence[Row], function: Function) -> RewardCheck:
    """Try the shapes that a stranger's function may look for; where none works, vary one thing at a time."""
    try:
        if not any(str(_truth(row)).strip() for row in rows):
            tried = _results(rows, ["The answer is 42"] * len(rows), function)
            lines = ("right and other answers are not compared, as the rows have no ground truth",)
            sources = tuple(sorted({str(row["data_source"]) for row in rows}))
            return RewardCheck((), lines, tuple(dict.fromkeys(key for result in tried for key in result)), sources)
        first: RewardCheck | None = None
        for shape in SHAPES:
            verdict = _compare(rows, [shape.format(_truth(row)) for row in rows], function, "the function")
            if not verdict.findings:
                return verdict
            first = first or verdict
        assert first is not None
        finding = _what_would_help(rows, function, first.findings[0].message) or first.findings[0]
        return dataclasses.replace(first, findings=(finding,))
    except RewardFunctionError as error:
        return RewardCheck((RewardFinding("reward_fn", str(error)),))
    except Exception as error:
        return RewardCheck(
            (RewardFinding("reward_fn", f"the reward function raises on a real row: {_of_function(error, function)}"),)
        )


def _of_function(error: BaseException, function: Function) -> str:
    return user_code_error_text(
        error, getattr(sys.modules.get(getattr(function, "__module__", "")), "__file__", None) or ""
    )


def _what_would_help(rows: Sequence[Row], function: Function, means: str) -> RewardFinding | None:
    """Name what makes the function score a right answer when it is changed; None where nothing does."""
    for at_fault, changed, message in (
        ("data_source", [{**row, "data_source": name} for row in rows[:1] for name in RULES], "with data_source {} it"),
        ("ground_truth", [_plain(row) for row in rows], "with a bare number as ground_truth it"),
    ):
        for row in changed:
            answers = [shape.format(_truth(row)) for shape in SHAPES]
            right = max(result["score"] for result in _results([row] * len(SHAPES), answers, function))
            if right > _mean(_results([row], [""], function)):
                return RewardFinding(at_fault, f"{means}; {message.format(repr(row['data_source']))} gives {right:.2f}")
    return None


def _plain(row: Row) -> Row:
    """The row with the last number of its ground truth in its place."""
    return {**row, "reward_model": {"ground_truth": number.last(str(_truth(row))) or str(_truth(row)).strip()}}


def main() -> int:
    """Check the rows of stdin."""
    reward_fn, result = sys.argv[1:]
    redact_streams()
    rows = json.load(sys.stdin)
    try:
        verdict = check(rows, _marking_calls(custom.load(reward_fn), Path(result)) if reward_fn else None)
    except RewardFunctionError as error:
        verdict = RewardCheck((RewardFinding("reward_fn", str(error)),))
    part = Path(f"{result}.part")
    part.write_text(json.dumps(dataclasses.asdict(verdict)), encoding="utf-8")
    part.rename(result)
    return 0


def _marking_calls(function: Function, result: Path) -> Function:
    """Return ``function``, each call of which is told to whoever waits: by the time of the file ``RESULT.called``."""

    @functools.wraps(function, assigned=("__module__",), updated=())
    def called(**arguments: Any) -> Any:
        Path(f"{result}.called").touch()
        return function(**arguments)

    return called


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # whatever threads a stranger's function has left

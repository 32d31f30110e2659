"""The reward of a run, tried on real rows before anything is started; and its specification for ``reward``."""

import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from data import parquet
from reward import check
from trainer.settings import Settings, UserError

ROWS = 32
SECONDS = 900  # for all answers of all rows: code has 10 s for each
HINTS = {
    "data_source": "write the data_source that the reward knows into the data",
    "ground_truth": "write the ground truth as the reward reads it",
    "extraction": "the reward does not find a right answer, or gives everything the same (--no_reward_check if meant)",
    "reward_fn": "mend the function",
}


def is_overridden(settings: Settings) -> bool:
    """Whether the person brings a reward function of verl's, by raw overrides."""
    return any(word.lstrip("+~").startswith("reward.") for word in settings.overrides)


def reward_fn(settings: Settings) -> str:
    """Return ``--reward_fn`` with its file's path made absolute."""
    spec = settings.text("REWARD_FN")
    place, colon, name = spec.rpartition(":") if ":" in spec else (spec, "", "")
    return f"{Path(place).expanduser().resolve()}{colon}{name}" if place.endswith(".py") else spec


def composite(settings: Settings, judge: str = "", model: str = "") -> dict[str, Any]:
    """Return the section ``composite_reward`` with what its components need to know of the run.

    The length penalty's limit is that of responses, unless one is given. ``judge`` and ``model`` are the judge and the
    reward model, as JSON.
    """
    section = dict(settings.reward.section)
    if "length_penalty" in json.dumps(section):
        options = dict(section.get("options") or {})
        limit = {"limit": settings.integer("MAX_RESPONSE_LENGTH")}
        section["options"] = {**options, "length_penalty": limit | dict(options.get("length_penalty") or {})}
    if judge:
        section["options"] = {**(section.get("options") or {}), "judge_score": {"config": judge}}
    if model:
        section["options"] = {**(section.get("options") or {}), "rm_score": {"model": model}}
    return section


def function_faults(settings: Settings) -> list[str]:
    """Return what can be said against ``--reward_fn`` at a glance: its file is not there."""
    spec = settings.text("REWARD_FN")
    place = spec.rpartition(":")[0] if ":" in spec else spec
    if place.endswith(".py") and not Path(place).expanduser().is_file():
        return [f"--reward_fn {spec}: there is no file {Path(place).expanduser().resolve()}"]
    return []


def try_out(settings: Settings, train_file: Path) -> check.Verdict:
    """Score good and bad answers of 32 rows, if rules or a function of the user's score them.

    Raises:
        UserError: they cannot be told apart, and not by ``--no_reward_check``; or the function breaks.
    """
    own = reward_fn(settings)
    if is_overridden(settings) or not (own or settings.reward.by_rule):
        return check.Verdict()
    verdict = _in_a_process(own, parquet.sample(train_file, ROWS))
    lenient = settings.values["REWARD_CHECK"] is False or settings.values["FORCE"] is True
    if lenient and all(each.at_fault != "reward_fn" for each in verdict.findings):
        said = [f"good and bad answers are not told apart: {each.message}" for each in verdict.findings]
        return dataclasses.replace(verdict, findings=(), lines=tuple(said) or verdict.lines)
    if verdict.findings:
        what = f"--reward_fn {settings.text('REWARD_FN')}" if own else "the rules"
        raise UserError(
            *(
                f"{what} cannot be trained on, {each.at_fault} is at fault: {each.message}; {HINTS[each.at_fault]}"
                for each in verdict.findings
            )
        )
    return verdict


def _in_a_process(own: str, rows: list[dict[str, Any]]) -> check.Verdict:
    """Check in a process that a stranger's function may end, hang or fill with prints."""
    with tempfile.TemporaryDirectory(prefix="ppo-kit-check-") as folder:
        result = Path(folder) / "verdict.json"
        command = [sys.executable, "-m", "reward.check", own, str(result)]
        said = ""
        try:
            done = subprocess.run(
                command,
                input=json.dumps(rows, default=str),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
            lines = done.stdout.strip().splitlines() or [f"it ended with status {done.returncode}"]
            said = f"the check ends without a verdict: {lines[-1][:300]}"
        except subprocess.TimeoutExpired:
            said = f"{len(rows)} rows are not scored after {SECONDS} s"
        if not result.exists():
            return check.Verdict((check.Finding("reward_fn" if own else "extraction", said),))
        read = json.loads(result.read_text(encoding="utf-8"))
    findings = tuple(check.Finding(**each) for each in read["findings"])
    return check.Verdict(findings, tuple(read["lines"]), tuple(read["keys"]))

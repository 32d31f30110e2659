"""``./train.sh check``: all that a launch checks, and no launch."""

import time
from collections.abc import Sequence
from pathlib import Path

from data import parquet
from reward.support.wording import shown
from trainer.checks.finding import Finding
from trainer.checks.preflight import fatal
from trainer.checks.run_checks import run_checks
from trainer.commands.rehearsal import record
from trainer.composition.run_plan import RunPlan
from trainer.launch import processes
from trainer.settings.settings import Settings
from trainer.user_error import UserError, say


def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Print one line a check, then the forecast; return 0 where a launch would start, else 2.

    Raises:
        UserError: a word that is no flag.
    """
    if arguments:
        raise UserError(
            f"check: takes the flags of a run and no other argument; leave out {shown(' '.join(arguments), 200)}"
        )
    started = time.monotonic()
    traces = processes.Traces()
    try:
        result = run_checks(settings, lambda line: None, Path("/tmp/ppo-kit-check"), make=False)
    finally:
        processes.end_all(traces)  # at Ctrl-C, those that score the first rows
    for finding in result.findings:
        print(finding)
    for line in _seen_by_reward_model(result.plan):
        print(line)
    if result.forecast:
        say("\n" + "\n".join(result.forecast))
    if result.config is not None and (rehearsed := _rehearsed(settings)):
        say(f"\nrehearsal: {rehearsed}")
    say(f"\n{_summary(settings, result.findings)} ({time.monotonic() - started:.1f} s)")
    return 2 if fatal(settings, result.findings) else 0


def _seen_by_reward_model(plan: RunPlan | None) -> list[str]:
    if plan is None or plan.reward_model is None:
        return []
    from trainer.checks import reward_model

    text = reward_model.shown(plan.reward_model, parquet.sample(plan.train_file, 1)[0])
    return [f"\nthe reward model sees, of the first row with its ground truth as the answer:\n{text}"]


def _rehearsed(settings: Settings) -> str:
    """Return what was rehearsed of this configuration; empty where it cannot be composed, which is a failure above."""
    try:
        return record.line(settings)
    except (UserError, OSError):
        return ""


def _summary(settings: Settings, findings: Sequence[Finding]) -> str:
    failed = [finding for finding in findings if finding.state == "fail"]
    warned = sum(finding.state == "warn" for finding in findings)
    text = f"{len(findings) - len(failed) - warned} passed, {warned} warning{'s' * (warned != 1)}, {len(failed)} to fix"
    if not failed:
        return f"{text}; ready to launch"
    if not fatal(settings, findings):
        return f"{text}; --force launches anyway"
    return text + "; --force would launch anyway" * all(finding.forced for finding in failed)

"""``./train.sh score FILE``: a file of answers, scored offline as training would."""

import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reward import score as offline
from reward.errors import RewardError, RewardFunctionError
from reward.model.spec import Spec
from trainer import judge, launch, reward_check
from trainer.settings import Settings, UserError


def run(settings: Settings, words: Sequence[str]) -> int:
    """Score a file of answers with the reward that training would use; return the exit status.

    Raises:
        UserError: the file, the function or the reward is not there.
    """
    if len(words) != 1:
        raise UserError(f"score: one JSONL file is wanted, as in ./train.sh score answers.jsonl, not {list(words)}")
    faults = judge.faults(settings)
    if faults:
        raise UserError(*faults)
    source = Path(words[0])
    out = Path(settings.text("RESULT_PATH") or source.with_suffix(".scored.jsonl"))
    started = time.monotonic()
    model = reward_model_of(settings)
    try:
        if model and settings.reward.kind == "model" and source.is_file() and _print_pairs(source, out, model):
            return 0
        summary = offline.run(source, out, reward_of(settings, model), _tell)
    except (offline.ScoreError, RewardFunctionError, OSError) as error:
        raise UserError(str(error)) from None
    except launch.Stopped as stopped:
        print(f"train.sh: stopped by {stopped}; the same command goes on where {out} ends", file=sys.stderr)
        return 128 + stopped.signum
    print("\n".join([*summary.lines(time.monotonic() - started), f"results: {out}"]))
    return 0


def reward_of(settings: Settings, model: Spec | None) -> offline.Reward:
    """Return what training would score with."""
    kind, spec, threads = settings.reward.kind, "", offline.THREADS
    if judge.is_used(settings):
        threads = max(threads, judge.config(settings).concurrency)
    if kind == "composite":
        return offline.Reward(kind, reward_check.composite(settings, model=model.dumps() if model else ""), threads)
    if kind == "function":
        spec = reward_check.reward_fn(settings)
    elif kind == "judge":
        spec = judge.config(settings).to_json()
    elif model is not None:
        spec = model.dumps()
    return offline.Reward(kind, spec, threads)


def reward_model_of(settings: Settings) -> Spec | None:
    """Return the reward model as it is used here: a running server, or in this process.

    Raises:
        UserError: with its faults.
    """
    if not settings.reward.by_model:
        return None
    if settings.text("RM_NORMALIZE") == "calibrated":
        raise UserError("--rm_normalize calibrated: of training, where there is a reference policy; leave it out")
    from reward.model.errors import RewardModelError
    from reward.model.server import served_model
    from trainer import reward_model

    spec = reward_model.plan(settings)
    try:
        if spec.url:
            return dataclasses.replace(spec, served=served_model(spec.url))
    except RewardModelError as error:
        raise UserError(*error.faults) from None
    length = settings.values["RM_MAX_LENGTH"]
    return dataclasses.replace(
        spec, engine="transformers", actors=0, max_length=length if isinstance(length, int) else 0
    )


def _print_pairs(source: Path, out: Path, model: Spec) -> bool:
    """Print the pairwise accuracy where ``source`` holds pairs; return whether it does.

    Raises:
        UserError: a pair cannot be read or scored.
    """
    from reward.model import offline as models
    from reward.model.pairs import PairError

    if not models.holds_pairs(source):
        return False
    try:
        print("\n".join([*models.pairwise(source, out, model), f"results: {out}"]))
    except (PairError, RewardError) as error:
        raise UserError(str(error)) from None
    return True


def _tell(text: str) -> None:
    print(text, file=sys.stderr)

"""Flags of training beside a command that does not train."""

from trainer.commands import without_effect_on_scores
from trainer.settings.knobs import load_knobs


def test_knobs_that_scoring_does_not_read_are_named() -> None:
    given = frozenset({"LR", "BATCH_SIZE", "EXPORT_STEP", "RM_MODEL", "REWARD_FN", "RESULT_PATH"})
    assert without_effect_on_scores(given) == "--batch_size, --lr, --step"


def test_what_scoring_reads_is_not() -> None:
    read = {knob.env for knob in load_knobs() if knob.env.startswith(("RM_", "REWARD_FN", "REWARD_MODEL"))}
    assert without_effect_on_scores(frozenset(read)) == ""

"""z-scores of a composite's components: one place for a whole run, as each result depends on all values so far.

Reward workers return raw values, with 0 for the parts that are z-scored. Whoever has a whole batch (the trainer, once a
step; ``reward.score``, once a file) lets this see it and then scales it: order and number of workers do not matter.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reward.composite.combine import Composite, Raw, Result, combine
from reward.composite.config import ComponentScale
from reward.support.moments import RunningMoments

OF_A_MODEL = Composite({"rm_score": 1.0}, {"rm_score": ComponentScale("zscore")})  # --rm_normalize running, alone


class ZScores:
    """What has been seen of each z-scored component, and results scaled by it."""

    def __init__(self, composite: Composite) -> None:
        self.composite = composite
        self.seen = {name: RunningMoments() for name in composite.zscored}

    @classmethod
    def of(cls, composite: str = "", running_model: bool = False) -> "ZScores | None":
        """Return what a reward needs; None where nothing is z-scored.

        ``composite`` is the section ``composite_reward`` as JSON; ``running_model`` says that a reward model scores
        alone, with ``--rm_normalize running``.
        """
        combination = Composite.of(json.loads(composite)) if composite else None
        if combination is None and running_model:
            combination = OF_A_MODEL
        return cls(combination) if combination is not None and combination.zscored else None

    def see(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Take in the raw values of the results that have a score."""
        rows = [self._raw(result) for result in results if not result["unscored"]]
        for name, moments in self.seen.items():
            values = [row[name] for row in rows]
            moments.update([value for value in values if value is not None and value == value])

    def scaled(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return a result, its keys the same, with its z-scores and the sum that follows; an unscored one as it is."""
        if result["unscored"]:
            return dict(result)
        combined: Result = combine(self.composite, self._raw(result), self.seen)
        return {name: combined.get(name, value) for name, value in result.items()}

    @property
    def metrics(self) -> dict[str, float]:
        """What z-scores go by now."""
        return {
            f"reward/{name}_seen_{what}": getattr(moments, what)
            for name, moments in self.seen.items()
            for what in ("mean", "std")
        }

    def state_dict(self) -> dict[str, dict[str, float]]:
        """Return what a checkpoint keeps."""
        return {name: moments.state_dict() for name, moments in self.seen.items()}

    def load_state_dict(self, state: Mapping[str, dict[str, float]]) -> None:
        """Go on from a checkpoint; a component that it does not know starts anew."""
        for name, moments in self.seen.items():
            if name in state:
                moments.load_state_dict(state[name])

    def _raw(self, result: Mapping[str, Any]) -> Raw:
        """A weight of 0 marks what was left out; a model alone has no weights."""
        left_out = {name for name in self.composite.weights if result.get(f"{name}_weight") == 0.0}
        return {name: float("nan") if name in left_out else result[name] for name in self.composite.weights}

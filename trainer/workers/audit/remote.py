"""The audit in a process of its own, which Ray keeps: what a stranger's function does there holds up no step."""

import logging
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError

from reward.audit import Auditor, AuditSpec, AuditVerdict, Row, timeout_verdict
from reward.support.secret import excerpt

logger = logging.getLogger(__name__)
HEAD = "node:__internal_head__"  # a resource of Ray's head node: where a judge's keys are in the environment
START = 120.0  # seconds for the process, and the model in it, to start
GRACE = 10.0  # seconds beyond the limit of all answers, after which the process is taken for stuck


class AuditActor:
    """An ``Auditor`` behind Ray; what it cannot be made of is told with the first answers."""

    def __init__(self, spec: str) -> None:
        self.auditor = Auditor(AuditSpec.loads(spec))

    def score(self, rows: list[Row]) -> list[AuditVerdict]:
        """See ``Auditor.score``."""
        return self.auditor.score(rows)


class RemoteAuditor:
    """Starts the process when it is needed, and again where it died or hangs."""

    def __init__(self, spec: AuditSpec) -> None:
        self.spec = spec
        self._actor: Any = None
        self._started = False  # whether it has answered before

    def submit(self, rows: list[Row]) -> Any:
        """Have rows scored; return what ``result`` waits for."""
        if self._actor is None:
            actor_class = ray.remote(AuditActor).options(num_cpus=0, resources={HEAD: 0.001})
            self._actor, self._started = actor_class.remote(self.spec.dumps()), False
        return self._actor.score.remote(rows)

    def result(self, coming: Any, count: int) -> list[AuditVerdict]:
        """Return the verdicts on ``count`` rows; without any where the process died, or takes too long."""
        limit = self.spec.limit(count) + GRACE + (0.0 if self._started else START)
        try:
            verdicts: list[AuditVerdict] = ray.get(coming, timeout=limit)
        except GetTimeoutError:
            self.end()
            return [timeout_verdict(self.spec)] * count
        except RayError as error:
            self.end()
            cause = getattr(error, "cause", None) or error
            why = excerpt(f"the audit's process failed: {type(cause).__name__}: {' '.join(str(cause).split())}", 300)
            return [AuditVerdict(why=why)] * count
        self._started = True
        if timeout_verdict(self.spec) in verdicts:  # its threads are lost
            self.end()
        return verdicts

    def end(self) -> None:
        """End the process; the next rows get another."""
        if self._actor is not None:
            ray.kill(self._actor)
            self._actor = None


def unscored_text(verdicts: Sequence[AuditVerdict]) -> str:
    """Return in words how many answers have no verdict, and why; empty where all have one."""
    causes = [verdict.why for verdict in verdicts if verdict.score is None]
    if not causes:
        return ""
    most = max(set(causes), key=causes.count)
    return f"the audit gives no score for {len(causes)} of {len(verdicts)} answers: {most or 'unscored'}"

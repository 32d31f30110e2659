"""The audit of one run: which answers, when, and what comes of it: metrics, files for the report, an event."""

import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

from reward.audit import AuditSpec, AuditVerdict
from reward.support import events
from reward.support.redact import write_text
from trainer.workers.audit.answers import AuditedAnswer, read
from trainer.workers.audit.measures import AuditBaseline, measure
from trainer.workers.audit.remote import RemoteAuditor, unscored_text

logger = logging.getLogger(__name__)
TRAIN, HELD_OUT = "audit", "audit_held_out"  # folders of ``rollouts``
LONGEST = 20_000  # characters of a text in these files


class Audit:
    """Scores ``size`` answers of every ``every`` steps, and the first held-out ones of each validation.

    Answers of a step are scored while the step goes on.
    """

    def __init__(self, spec: AuditSpec, every: int, size: int, seed: int, folder: Path) -> None:
        self.spec, self.every, self.size, self.seed, self.folder = spec, every, size, seed, folder
        self.reference = AuditBaseline()
        self._auditor = RemoteAuditor(spec)
        self._coming: tuple[list[AuditedAnswer], Any] | None = None
        self._held_out: list[AuditedAnswer] = []
        self._last_cause = ""

    @classmethod
    def of(cls, config: Any, options: Any) -> "Audit | None":
        """Return the one of a run of verl's ``config`` with the kit's ``options``; None where there is none."""
        if not options.audit:
            return None
        rollouts = Path(config.trainer.rollout_data_dir or config.trainer.default_local_dir).parent
        return cls(
            AuditSpec.loads(options.audit), options.audit_freq, options.audit_size, config.data.seed or 0, rollouts
        )

    def begin(self, batch: Any, unscored: frozenset[str], step: int, tokenizer: Any) -> None:
        """Have a sample of a step's answers scored, where one is due; those that the reward left unscored are not."""
        if step % self.every:
            return
        keys = [
            key
            for key, tag in zip(batch.keys, batch.tags, strict=True)
            if not tag.get("is_padding", False) and key not in unscored
        ]
        chosen = random.Random(f"{self.seed} {step}").sample(range(len(keys)), min(self.size, len(keys)))
        if not chosen:
            return
        answers = read([keys[i] for i in sorted(chosen)], batch.partition_id, tokenizer)
        self._coming = answers, self._auditor.submit([answer.row for answer in answers])

    def end(self, step: int) -> dict[str, float]:
        """Return the metrics of the step's audit; nothing where there was none."""
        if self._coming is None:
            return {}
        (answers, coming), self._coming = self._coming, None
        verdicts = self._verdicts(answers, coming, TRAIN, step)
        return measure([answer.measured for answer in answers], [verdict.score for verdict in verdicts], self.reference)

    def see_held_out(self, batch: Any, tokenizer: Any) -> None:
        """Take in held-out answers that were sampled just now, the first ``size`` of a validation."""
        if missing := self.size - len(self._held_out):
            self._held_out += read(batch.keys[:missing], batch.partition_id, tokenizer, scored=False)

    def held_out(self, proxies: Sequence[float], unscored: Sequence[Any], step: int) -> dict[str, float]:
        """Score the held-out answers that were seen; return the means of reward and audit over those with both.

        Args:
            proxies: the rewards of all held-out answers, in their order.
            unscored: true for those that the reward itself left unscored; empty where there are none.
            step: the step of the validation.
        """
        seen, self._held_out = self._held_out, []
        answers = [
            replace(answer, proxy=float(proxy))
            for answer, proxy, is_left_out in zip_longest(seen, proxies[: len(seen)], unscored[: len(seen)])
            if not is_left_out
        ]
        if not answers:
            return {}
        coming = self._auditor.submit([answer.row for answer in answers])
        verdicts = self._verdicts(answers, coming, HELD_OUT, step)
        pairs = [(answer.proxy, verdict.score) for answer, verdict in zip(answers, verdicts, strict=True)]
        both = [(proxy, score) for proxy, score in pairs if score is not None]
        if not both:
            return {}
        proxy, audit = (fmean(column) for column in zip(*both, strict=True))
        return {"audit/held_out_proxy": proxy, "audit/held_out": audit}

    def close(self) -> None:
        """End the audit's process."""
        self._auditor.end()

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return self.reference.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.reference.load_state_dict(state)

    def _verdicts(self, answers: Sequence[AuditedAnswer], coming: Any, where: str, step: int) -> list[AuditVerdict]:
        verdicts = self._auditor.result(coming, len(answers))
        self._tell(unscored_text(verdicts), step)
        _write(self.folder / where / f"{step}.jsonl", answers, verdicts, step)
        return verdicts

    def _tell(self, text: str, step: int) -> None:
        cause = text.partition(": ")[2]
        if cause and cause != self._last_cause:  # once for as long as it is the same
            events.warn(logger, "driver", "audit", text, step=step)
        self._last_cause = cause


def _write(path: Path, answers: Sequence[AuditedAnswer], verdicts: Sequence[AuditVerdict], step: int) -> None:
    """Write the audited answers; a disk that is full ends no run."""
    lines = []
    for answer, verdict in zip(answers, verdicts, strict=True):
        row = answer.row
        record = {"input": answer.prompt[-LONGEST:], "output": row["response"][:LONGEST], "gts": row["ground_truth"]}
        record |= {"proxy": answer.proxy, "audit": verdict.score, "why": verdict.why, "length": answer.length}
        lines.append(json.dumps({**record, "step": step}, ensure_ascii=False, default=str))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        logger.warning("%s cannot be written: %s", path, error)

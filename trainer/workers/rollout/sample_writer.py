"""Samples that are finished, on their way into the transfer queue."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import transfer_queue as tq

from reward.composite.config import ENV
from trainer.workers.rollout import rows


@dataclass
class RolloutSample:
    """One response on its way."""

    row: rows.Row
    prompt_ids: list[int]  # none where the prompt cannot be told in tokens
    output: Any = None  # AgentLoopOutput, when there is one
    info: dict[str, Any] = field(default_factory=dict)  # told of it beside what its score tells
    scored: Any = None  # what is scored, where that is not the output, and the row that goes with it
    scored_row: rows.Row | None = None
    turns: list[dict[str, Any]] = field(default_factory=list)  # what was said after the prompt, by messages
    fault: str = ""  # why it has no score
    of_tokens: dict[str, list[float]] = field(default_factory=dict)  # further columns, a number a token of the response
    paid: list[float] = field(default_factory=list)  # by an environment, a token; where more is scored beside it

    @property
    def key(self) -> str:
        """Its name in the transfer queue."""
        return f"{self.row['uid']}_{self.row['session_id']}_0"

    @property
    def text(self) -> str:
        """What the model said in all its turns."""
        return "\n\n".join(turn["content"] for turn in self.turns if turn["role"] == "assistant" and turn["content"])

    def take_score(self, result: Mapping[str, Any]) -> None:
        """Take what a reward loop returned.

        Of an episode, the environment's part of a composite stays on the turns that earned it; all else that the score
        has is of the whole episode, and stands on its end.
        """
        extra_info = result.get("reward_extra_info", {})
        self.output.reward_score = result["reward_score"]
        self.output.extra_fields["reward_extra_info"] = {**extra_info, **self.info}
        if self.paid:
            weight = float(extra_info[f"{ENV}_weight"])
            rewards = [weight * paid for paid in self.paid]
            rewards[-1] += float(result["reward_score"]) - sum(rewards)
            self.of_tokens["rm_scores"] = rewards


class Writer:
    """Writes samples into the transfer queue, all that have come meanwhile at once, and what becomes of prompts."""

    def __init__(
        self, partition: str, samples: Sequence[RolloutSample], table: Callable[[list[rows.Row]], Any]
    ) -> None:
        self._partition, self._table = partition, table
        self._pending = Counter(sample.row["uid"] for sample in samples)
        self._failed: set[str] = set()
        self._coming: list[RolloutSample] = []
        self._tasks: list[asyncio.Task[None]] = []

    def put(self, samples: Sequence[RolloutSample]) -> None:
        """Take samples that are finished, or have failed and have no output; they are written soon."""
        self._coming += samples
        if self._coming and all(task.done() for task in self._tasks):
            self._tasks.append(asyncio.create_task(self._write()))

    async def close(self) -> None:
        """Wait until all is written; raise what went wrong with it."""
        await asyncio.gather(*self._tasks)

    async def _write(self) -> None:
        while self._coming:
            samples, self._coming = self._coming, []
            done = [sample for sample in samples if sample.output is not None]
            if done:
                await tq.async_kv_batch_put(
                    keys=[sample.key for sample in done],
                    partition_id=self._partition,
                    fields=self._table([rows.fields(sample.output, sample.row, sample.of_tokens) for sample in done]),
                    tags=[rows.tag(sample.output, sample.row) for sample in done],
                )
            self._failed.update(sample.row["uid"] for sample in samples if sample.output is None)
            self._pending.subtract(sample.row["uid"] for sample in samples)
            uids = [uid for uid in dict.fromkeys(sample.row["uid"] for sample in samples) if not self._pending[uid]]
            if uids:
                tags = [{"status": "failure" if uid in self._failed else "finished"} for uid in uids]
                await tq.async_kv_batch_put(keys=uids, partition_id=self._partition, tags=tags)

"""The replay buffer of verl's V1 trainer, without its waiting and in a repeatable order."""

from typing import Any

import transfer_queue as tq
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

POLL_SECONDS = 0.05  # verl: 2.0, of which each step loses up to as much


class OrderedReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """Samples in the order of the data, whichever finished first, so that a seed gives the same batches."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "poll_interval": POLL_SECONDS})

    def _materialize_batch(self, *args: Any, **kwargs: Any) -> Any:
        batch = super()._materialize_batch(*args, **kwargs)
        if not batch.keys:
            raise RuntimeError("Every sample of the batch failed. See root cause above.")
        rows = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["index"])["index"]
        # A key is {uid}_{session}_{output}; the uid is random, the row's index is not.
        order = sorted(
            range(len(batch.keys)),
            key=lambda i: (int(rows[i]), *(int(part) for part in batch.keys[i].rsplit("_", 2)[1:])),
        )
        batch.keys = [batch.keys[i] for i in order]
        batch.tags = [batch.tags[i] for i in order]
        return batch

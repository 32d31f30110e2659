"""Single scores, asked for one by one from any thread, computed together."""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from reward.model.architectures.adapter import Encoded

Score = Callable[[Sequence[Encoded]], list[float]]
Waiting = tuple[Encoded, "Future[float]"]


class Batcher:
    """Hands what waits, ``most`` inputs at a time, to ``score`` in a thread of its own.

    While one batch is computed the next one gathers, so nothing waits for a batch to fill.
    """

    def __init__(self, score: Score, most: int) -> None:
        self._score, self._most = score, most
        self._queue: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="reward-model", daemon=True).start()

    def submit(self, encoded: Encoded) -> "Future[float]":
        """Return what will hold the score, or the exception of the batch that it was in."""
        future: Future[float] = Future()
        self._queue.put((encoded, future))
        return future

    def _work(self) -> None:
        while True:
            batch = [self._queue.get()]
            while len(batch) < self._most and not self._queue.empty():
                batch.append(self._queue.get())
            batch = [(encoded, future) for encoded, future in batch if future.set_running_or_notify_cancel()]
            if batch:
                self._compute(batch)

    def _compute(self, batch: list[Waiting]) -> None:
        try:
            scores = self._score([encoded for encoded, _ in batch])
        except Exception as error:  # told to everyone who waits; the next batch may do
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), score in zip(batch, scores, strict=True):
            future.set_result(score)

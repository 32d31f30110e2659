"""The transformers engine in a process of its own, which Ray keeps: all reward workers ask the same model."""

import asyncio
from typing import Any

import ray

from reward.model.architectures.adapter import Encoded
from reward.model.serving.batcher import Batcher
from reward.model.serving.engine import RewardEngine
from reward.model.spec import RewardModelSpec

NAME = "kit_reward_model"
AT_ONCE = 4096  # requests that may wait
WAVES = 4  # micro-batches that are sorted by length together


class RewardModel:
    """One copy of the model; a request waits while a batch is computed, and is in the next."""

    def __init__(self, spec: str) -> None:
        loaded = RewardModelSpec.loads(spec)
        self.home, self.shares = loaded.device, loaded.device != "cpu" and not loaded.own_gpus
        self.engine = RewardEngine(loaded)
        self.batcher = Batcher(self._scores, WAVES * loaded.micro_batch)

    async def score(self, encoded: Encoded) -> float:
        """Return the score of one input."""
        return await asyncio.wrap_future(self.batcher.submit(encoded))

    async def ready(self) -> bool:
        """Return when the weights are loaded."""
        return True

    async def rest(self) -> None:
        """Leave a GPU that is shared to the policy until the next request."""
        if self.shares:
            self.engine.to("cpu")

    def _scores(self, inputs: Any) -> list[float]:
        self.engine.to(self.home)
        return self.engine.scores(inputs)


def start(spec: RewardModelSpec) -> list[Any]:
    """Start ``spec.actors`` actors and wait for their weights; they end with the process that holds the result."""
    actor_class, gpus = ray.remote(RewardModel), int(spec.own_gpus)
    actors = [
        actor_class.options(
            name=f"{NAME}_{i}", num_cpus=0, num_gpus=gpus, max_concurrency=AT_ONCE, max_restarts=3, max_task_retries=1
        ).remote(spec.dumps())
        for i in range(spec.actors)
    ]
    ray.get([actor.ready.remote() for actor in actors])
    return actors


class Actors:
    """The other side: in a reward worker."""

    def __init__(self, count: int) -> None:
        self.actors = [ray.get_actor(f"{NAME}_{i}") for i in range(count)]
        self.turn = 0

    def submit(self, encoded: Encoded) -> Any:
        """Return what will hold the score; the actors take turns."""
        self.turn = (self.turn + 1) % len(self.actors)
        return self.actors[self.turn].score.remote(encoded).future()

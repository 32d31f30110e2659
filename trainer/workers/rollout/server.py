"""verl's vLLM server with a call that takes many requests."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import ray
from verl.single_controller.ray import RayClassWithInitArgs
from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica
from vllm.sampling_params import RequestOutputKind

from reward.support import events
from trainer.workers.rollout.finished import Finished, as_finished
from trainer.workers.weight_check import vllm_side
from trainer.workers.weight_check.checksum import Sum
from trainer.workers.weight_transfer import RolloutWorker

# Nobody reads the text, and one message a response does for one a token.
TOKENS_ONLY = {"detokenize": False, "output_kind": RequestOutputKind.FINAL_ONLY}


class BatchHttpServer(vLLMHttpServer):  # type: ignore[misc]
    """As verl's, with ``generate_many``: a Ray call a batch rather than a sample; and with ``weight_sums``."""

    async def generate_many(self, requests: Sequence[tuple[list[int], dict[str, Any]]]) -> AsyncIterator[Finished]:
        """Respond to each request, (token ids of the prompt, sampling parameters); yield what has finished."""
        calls = [self.generate(ids, {**sampling, **TOKENS_ONLY}, uuid4().hex) for ids, sampling in requests]
        async for finished in as_finished(calls):
            yield finished

    async def weight_sums(self, step: int) -> list[dict[str, Sum]]:
        """Return the checksums of what each of the engine's workers holds; see ``trainer.workers.weight_check``."""
        worker_sums = await self.engine.collective_rpc(vllm_side.METHOD, args=(step,))
        return [
            {name: Sum(value, tuple(shape), *rest) for name, (value, shape, *rest) in weights.items()}
            for weights in worker_sums
        ]


class BatchReplica(vLLMReplica):  # type: ignore[misc]
    """A replica whose servers are ``BatchHttpServer``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.replica_rank == 0:
            events.emit("driver", "phase", name="policy_loaded")
        self.server_class = ray.remote(BatchHttpServer)

    def get_ray_class_with_init_args(self) -> Any:
        """Return verl's worker beside a vLLM that does not share the trainer's devices, as the kit's."""
        of_verl = super().get_ray_class_with_init_args()
        return RayClassWithInitArgs(ray.remote(RolloutWorker), *of_verl.args, **of_verl.kwargs)

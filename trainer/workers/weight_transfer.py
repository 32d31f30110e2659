"""How new weights reach vLLM on devices of its own (``--async separate``): verl's checkpoint engine ``kit``.

The actor's first rank broadcasts them to the workers beside vLLM, over gloo with no GPU and over NCCL with GPUs, in
buckets of ``update_weights_bucket_megabytes``; the actor's other ranks take part in gathering them alone. Of LoRA the
adapters are sent, and what vLLM has to know of them. verl's own engine (``nccl``) wants cupy, there is none of it for
the CPU, and adapters never arrive by it (verl#7495). Nothing that arrives is unpickled.
"""

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from types import ModuleType
from typing import Any, NamedTuple

import ray
import torch
import torch.distributed as dist
from verl.checkpoint_engine.base import (
    CheckpointEngine,
    CheckpointEngineRegistry,
    CheckpointEngineWorker,
    TensorMeta,
    merge_weight_chunks,
    split_weight_chunks,
)
from verl.single_controller.base.decorator import Dispatch, register
from verl.utils.device import get_device_name

NAME = "kit"
rendezvous = importlib.import_module("torch.distributed.rendezvous")  # a function of that name hides it
BROADCAST_TIMEOUT = timedelta(minutes=10)  # of the sender or a receiver
LEFT_OUT = -1  # rank of the actor's workers that send nothing


class Address(NamedTuple):
    """Where the store is at which the group meets."""

    host: str
    port: int


@CheckpointEngineRegistry.register(NAME)
class BroadcastEngine(CheckpointEngine):  # type: ignore[misc]
    """One side of the transfer; its group is made at the first, and kept."""

    def __init__(self, bucket_size: int, is_master: bool = False) -> None:
        self.bucket_size, self.is_master = bucket_size, is_master
        self.device = torch.device(get_device_name())
        self.rank = LEFT_OUT
        self._store: Any = None
        self._group: Any = None

    def prepare(self) -> Address | None:
        """Open the store, where this is the rank that sends; return its address."""
        if not self.is_master:
            return None
        host = ray.util.get_node_ip_address().strip("[]")
        if self._store is None:  # bound to that address alone: trainer/workers/loopback.py
            self._store = rendezvous.TCPStore(
                host_name=host,
                port=0,
                world_size=None,
                is_master=True,
                timeout=BROADCAST_TIMEOUT,
                wait_for_workers=False,
            )
        return Address(host, self._store.port)

    @classmethod
    def build_topology(
        cls, actor_wg_world_size: int, rollout_world_size: int, metadata: list[Address | None]
    ) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Return the arguments of ``init_process_group`` for each of the actor's ranks and of vLLM's workers."""
        world = 1 + rollout_world_size
        actor: dict[str, list[Any]] = {"rank": [0] + [LEFT_OUT] * (actor_wg_world_size - 1)}
        rollout: dict[str, list[Any]] = {"rank": list(range(1, world))}
        for side, size in ((actor, actor_wg_world_size), (rollout, rollout_world_size)):
            side |= {"world_size": [world] * size, "address": [metadata[0]] * size}
        return actor, rollout

    def init_process_group(self, rank: int, world_size: int, address: Address) -> None:
        """Meet the others, the first time."""
        self.rank = rank
        if rank == LEFT_OUT or self._group is not None:
            return
        if self._store is None:
            self._store = rendezvous.TCPStore(
                host_name=address.host, port=address.port, world_size=None, is_master=False, timeout=BROADCAST_TIMEOUT
            )
        self._group = _group(self.device, dist.PrefixStore("weights", self._store), rank, world_size)

    def finalize(self) -> None:
        """Keep the group for the next transfer."""

    @torch.no_grad()
    async def send_weights(
        self,
        weights: Iterable[tuple[str, torch.Tensor]],
        global_steps: int | None = None,
        adapters: Mapping[str, Any] | None = None,
    ) -> None:
        """Broadcast ``weights``; with another rank than the first, only take part in gathering them.

        ``adapters`` is PEFT's configuration of them, where they are adapters.
        """
        if self.rank == LEFT_OUT:
            for _ in weights:
                pass
            return
        await self._broadcast_json(adapters)
        bucket = torch.empty(self.bucket_size, dtype=torch.uint8, device=self.device)
        chunks: list[TensorMeta] = []
        filled = 0
        async for meta, chunk in split_weight_chunks(_contiguous(weights), self.bucket_size):
            if filled + meta.chunk_size > self.bucket_size:
                await self._broadcast(chunks, bucket[:filled])
                chunks, filled = [], 0
            meta.offset = filled
            bucket[filled : filled + meta.chunk_size] = chunk
            filled += meta.chunk_size
            chunks.append(meta)
        if chunks:
            await self._broadcast(chunks, bucket[:filled])
        await self._broadcast([], bucket[:0])  # the end

    async def receive_adapters(self) -> dict[str, Any] | None:
        """Return PEFT's configuration of the adapters that come next; None where all weights come."""
        adapters: dict[str, Any] | None = await self._receive_json()
        return adapters

    async def receive_weights(self, global_steps: int | None = None) -> AsyncIterator[tuple[str, torch.Tensor]]:
        """Yield names and weights; each is there until the next is asked for."""
        async for name, weight in merge_weight_chunks(self._chunks(), self.bucket_size):
            yield name, weight

    async def _chunks(self) -> AsyncIterator[tuple[TensorMeta, torch.Tensor]]:
        bucket = torch.empty(self.bucket_size, dtype=torch.uint8, device=self.device)
        while chunks := await self._receive(bucket):
            for meta in chunks:
                yield meta, bucket[meta.offset : meta.offset + meta.chunk_size]

    async def _broadcast(self, chunks: list[TensorMeta], payload: torch.Tensor) -> None:
        await self._broadcast_json([_as_row(meta) for meta in chunks])
        await self._exchange(payload)

    async def _receive(self, bucket: torch.Tensor) -> list[TensorMeta]:
        chunks = [_of_row(row) for row in await self._receive_json()]
        await self._exchange(bucket[: sum(meta.chunk_size for meta in chunks)])
        return chunks

    async def _broadcast_json(self, value: Any) -> None:
        text = torch.frombuffer(bytearray(json.dumps(value, default=_plain).encode()), dtype=torch.uint8)
        await self._exchange(torch.tensor([len(text)], dtype=torch.int64, device=self.device))
        await self._exchange(text.to(self.device))

    async def _receive_json(self) -> Any:
        length = torch.zeros(1, dtype=torch.int64, device=self.device)
        await self._exchange(length)
        text = torch.empty(int(length), dtype=torch.uint8, device=self.device)
        await self._exchange(text)
        return json.loads(bytes(text.tolist()))

    async def _exchange(self, tensor: torch.Tensor) -> None:
        """Send ``tensor`` from the first rank; on all others it is written to."""
        if tensor.numel():
            await asyncio.to_thread(self._wait, tensor)

    def _wait(self, tensor: torch.Tensor) -> None:
        self._group.broadcast(tensor, 0).wait()
        if self.device.type == "cuda":  # NCCL has but been told
            torch.cuda.synchronize()


class RolloutWorker(CheckpointEngineWorker):  # type: ignore[misc]
    """verl's worker beside vLLM, which also hands adapters on."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)  # type: ignore[untyped-decorator]
    async def update_weights(self, global_steps: int | None = None) -> None:
        """Receive the weights of step ``global_steps``, and hand them to vLLM."""
        if not isinstance(self.checkpoint_engine, BroadcastEngine):
            await super().update_weights(global_steps)
            return
        adapters = await self.checkpoint_engine.receive_adapters()
        kwargs = {} if adapters is None else {"peft_config": adapters, "base_sync_done": True}
        weights = self.checkpoint_engine.receive_weights(global_steps)
        await self.server_adapter.update_weights(weights, global_steps=global_steps, **kwargs)


def send_adapters(module: ModuleType) -> None:
    """verl/workers/engine_workers.py, ``per_tensor_param, _ = self.actor.engine.get_per_tensor_param()``.

    verl forgets there what the adapters are, and sends their base weights with them each time.
    """
    worker = module.ActorRolloutRefWorker
    _of_verl.append(worker.update_weights)
    worker.update_weights = _update_weights


# Not an attribute of the class: Ray pickles methods, and one that is not found under its own name by its contents.
_of_verl: list[Any] = []


@register(dispatch_mode=Dispatch.ONE_TO_ALL, blocking=False)  # type: ignore[untyped-decorator]
async def _update_weights(self: Any, global_steps: int | None = None, mode: str = "auto") -> Any:
    if mode == "naive" or not isinstance(self.checkpoint_engine, BroadcastEngine):
        return await _of_verl[0](self, global_steps, mode)
    weights, adapters = self.actor.engine.get_per_tensor_param(self.layered_summon, base_sync_done=True)
    return await self.checkpoint_engine.send_weights(weights, global_steps, adapters)


def _group(device: torch.device, store: Any, rank: int, size: int) -> Any:
    """Return a process group beside the default one, which is the trainer's."""
    if device.type == "cuda":
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = BROADCAST_TIMEOUT
        return dist.ProcessGroupNCCL(store, rank, size, options)
    return dist.ProcessGroupGloo(store, rank, size, BROADCAST_TIMEOUT)


def _contiguous(weights: Iterable[tuple[str, torch.Tensor]]) -> Iterable[tuple[str, torch.Tensor]]:
    return ((name, weight.contiguous()) for name, weight in weights)


def _plain(value: Any) -> Any:
    """Return what JSON has no word for, of a configuration: sets, and types that PEFT only prints."""
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


def _as_row(meta: TensorMeta) -> list[Any]:
    dtype = str(meta.dtype).removeprefix("torch.")
    return [meta.name, list(meta.shape), dtype, meta.chunk_offset, meta.chunk_size, meta.offset]


def _of_row(row: list[Any]) -> TensorMeta:
    name, shape, dtype, chunk_offset, chunk_size, offset = row
    kind = getattr(torch, dtype)
    return TensorMeta(name, torch.Size(shape), kind, int(chunk_offset), int(chunk_size), int(offset))

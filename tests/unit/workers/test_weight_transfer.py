"""Weights from the actor to vLLM on devices of its own: all that is sent arrives, to the last bit."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from peft import LoraConfig
from verl.checkpoint_engine.base import CheckpointEngineRegistry

from trainer.workers import weight_transfer
from trainer.workers.weight_transfer import LEFT_OUT, NAME, BroadcastEngine

BUCKET = 1000  # bytes


def weights(seed: int) -> dict[str, torch.Tensor]:
    """Some that fill a bucket, share one, or take several; of several types, and one that is not contiguous."""
    torch.manual_seed(seed)
    return {
        "first": torch.randn(3, 5),
        "half": torch.randn(7).bfloat16(),
        "bucket": torch.randn(250),
        "large": torch.randn(40, 33),
        "turned": torch.randn(6, 4).t(),
        "count": torch.arange(5),
        "one": torch.tensor([2.5], dtype=torch.float64),
        "last": torch.randn(2, 3).half(),
    }


def at_once(*calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """Each in a thread and a loop of its own, as they are in processes of their own."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(asyncio.run, calls))


@pytest.fixture
def engines(monkeypatch) -> list[BroadcastEngine]:
    """Two of the actor's ranks, of which the first sends, and two workers beside vLLM."""
    monkeypatch.setattr(weight_transfer.ray.util, "get_node_ip_address", lambda: "127.0.0.1")
    monkeypatch.setattr(weight_transfer, "get_device_name", lambda: "cpu")  # as the platform of a run says
    make = CheckpointEngineRegistry.get(NAME)
    return [make(bucket_size=BUCKET, is_master=number == 0) for number in range(4)]


def connect(engines: list[BroadcastEngine]) -> None:
    """What verl's ``CheckpointEngineManager.build_process_group`` does before each transfer."""
    addresses = [engine.prepare() for engine in engines]
    assert addresses[1:] == [None] * 3
    sides = BroadcastEngine.build_topology(2, 2, addresses)
    arguments = [dict(zip(side, row, strict=True)) for side in sides for row in zip(*side.values(), strict=True)]
    assert [each["rank"] for each in arguments] == [0, LEFT_OUT, 1, 2]

    async def init(engine: BroadcastEngine, said: dict[str, Any]) -> None:
        engine.init_process_group(**said)

    at_once(*(init(*pair) for pair in zip(engines, arguments, strict=True)))


async def received(engine: BroadcastEngine) -> tuple[Any, dict[str, torch.Tensor]]:
    adapters = await engine.receive_adapters()
    return adapters, {name: weight.clone() async for name, weight in engine.receive_weights(1)}


def test_what_is_sent_arrives_each_time(engines) -> None:
    for seed in (1, 2):
        sent, asked = weights(seed), []
        rest = iter([*sent.items()])
        connect(engines)
        _, _, *others = at_once(
            engines[0].send_weights(iter(sent.items()), seed),
            engines[1].send_weights((asked.append(pair) or pair for pair in rest), seed),  # gathers, and sends nothing
            received(engines[2]),
            received(engines[3]),
        )
        assert len(asked) == len(sent)
        for adapters, arrived in others:
            assert adapters is None
            assert arrived.keys() == sent.keys()
            for name, weight in sent.items():
                assert arrived[name].dtype == weight.dtype
                assert torch.equal(arrived[name], weight), name
        for engine in engines:
            engine.finalize()


def test_adapters_come_with_what_vllm_has_to_know_of_them(engines) -> None:
    config = LoraConfig(r=4, lora_alpha=8, target_modules={"q_proj", "v_proj"}, task_type="CAUSAL_LM").to_dict()
    connect(engines)
    sent = {"q_proj.lora_A.weight": torch.ones(4, 8)}
    *_, (adapters, arrived), _ = at_once(
        engines[0].send_weights(iter(sent.items()), 1, config),
        engines[1].send_weights(iter(sent.items()), 1, config),
        received(engines[2]),
        received(engines[3]),
    )
    assert {name: adapters[name] for name in ("r", "lora_alpha", "target_modules", "peft_type", "task_type")} == {
        "r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "peft_type": "LORA", "task_type": "CAUSAL_LM",
    }  # fmt: skip
    assert torch.equal(arrived["q_proj.lora_A.weight"], torch.ones(4, 8))


def test_no_weights_are_no_end_of_it(engines) -> None:
    connect(engines)
    *_, first, second = at_once(
        engines[0].send_weights(iter(())), engines[1].send_weights(iter(())), received(engines[2]), received(engines[3])
    )
    assert first == second == (None, {})

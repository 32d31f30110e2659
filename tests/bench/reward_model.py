"""Scores a second of both engines, 256 conversations at once, as a step of training asks for them.

    .venv/bin/python -m tests.bench.reward_model [--model FOLDER] [--size 256] [--tokens 128] [--rounds 3]

The model is a random Qwen3 of 12 layers and a hidden size of 512 unless a folder is given. The first round is not
counted. Asked one by one through the client, so that encoding, batching and HTTP are part of it.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from reward.model.client import RewardModelClient
from reward.model.messages import Messages, conversation
from reward.model.serving.server import served_model
from reward.model.spec import RewardModelSpec
from tests.support import reward_models, vllm_server

LENGTH = 2048  # tokens of context


def rate(client: RewardModelClient, talks: list[Messages], rounds: int) -> list[float]:
    """Return conversations a second of each round after the first."""

    async def once() -> float:
        started = time.perf_counter()
        await asyncio.gather(*map(client.score, talks))
        return len(talks) / (time.perf_counter() - started)

    async def all_of_them() -> list[float]:
        return [await once() for _ in range(rounds + 1)][1:]

    return asyncio.run(all_of_them())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=128, help="about; bytes of a response for the random model")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.model or reward_models.skywork_qwen3(
            Path(place) / "model", hidden_size=512, intermediate_size=1024, num_hidden_layers=12, num_attention_heads=8
        )
        # Lengths from a quarter to all of it, and no beginning in common that a prefix cache would save.
        talks = [
            conversation(f"{i}: why is it so?", f"{i} " + "so " * (options.tokens * (1 + i % 4) // 12))
            for i in range(options.size)
        ]
        spec = RewardModelSpec(str(folder), max_length=LENGTH)
        found = {"transformers": rate(RewardModelClient(spec), talks, options.rounds)}
        with vllm_server.serving(folder, Path(place) / "log", LENGTH) as url:
            by_vllm = RewardModelSpec(str(folder), max_length=LENGTH, url=url, served=served_model(url))
            found["vllm"] = rate(RewardModelClient(by_vllm), talks, options.rounds)
    for name, rates in found.items():
        print(f"{name:14} {' '.join(f'{each:8.1f}' for each in rates)} scores/s")


if __name__ == "__main__":
    main()

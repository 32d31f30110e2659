"""A judge and its gateway in this process, for tests against the server of ``judge_server``."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from reward.judge.config import JudgeConfig
from reward.judge.gateway.gateway import Gateway
from reward.judge.judge import Judge
from tests.support.judge_server import Asked, JudgeServer, material

QUICK: dict[str, Any] = {"cache": "", "timeout": 20.0, "deadline": 60.0, "breaker_seconds": 0.1, "concurrency": 32}


def config(server: JudgeServer, **options: Any) -> JudgeConfig:
    name = options.pop("api_type", "openai")
    return JudgeConfig(**{**QUICK, "api_type": name, "model": "m", "base_url": server.url(name), **options})


Work = Callable[[Judge, Gateway], Coroutine[Any, Any, Any]]


def judging(settings: JudgeConfig, work: Work) -> tuple[Any, Gateway]:
    """Run ``work`` with a judge and its gateway; return what it returned, and the gateway."""

    async def whole() -> tuple[Any, Gateway]:
        gateway = Gateway(settings)
        try:
            return await work(Judge(settings, gateway.ask), gateway), gateway
        finally:
            await gateway.close()

    return asyncio.run(whole())


async def sums(judge: Judge, count: int, start: int = 0) -> list[dict[str, float]]:
    """Judge sums of which every other answer is right."""
    numbers = range(start, start + count)
    tasks = [judge.score(f"{i} + {i} = ?", f"It is {2 * i + i % 2}", str(2 * i)) for i in numbers]
    return await asyncio.gather(*tasks)


def first(asked: Asked) -> str:
    return material(asked.user, "TASK")

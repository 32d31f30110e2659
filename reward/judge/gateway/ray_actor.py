"""The gateway as one named Ray actor for all reward workers of a run, or in this process where Ray is not running."""

import asyncio
import atexit
import logging
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import ray
from ray.exceptions import RayError

from reward.judge.config import JudgeConfig
from reward.judge.gateway.gateway import Gateway, JudgeAnswer
from reward.judge.judge import Ask
from reward.judge.prompts.question import Question

logger = logging.getLogger(__name__)
NAME = "ppo_kit_judge"
HEAD = "node:__internal_head__"  # a resource of Ray's head node: where the keys are in the environment
AT_ONCE = 100_000  # questions in the actor; how many are asked at once is the gateway's business
RESTARTS = 3
T = TypeVar("T")


class GatewayActor:
    """A ``Gateway`` behind Ray. Its async methods run in one event loop."""

    def __init__(self, config: str) -> None:
        self.gateway = Gateway(JudgeConfig.from_json(config))

    async def ask(self, question: Question, repeat: int) -> JudgeAnswer:
        """See ``Gateway.ask``."""
        return await self.gateway.ask(question, repeat)

    async def report(self) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the metrics since the last report, and the gateway's state."""
        return self.gateway.take_metrics(), self.gateway.state()

    async def close(self) -> None:
        """Write what is not written yet, and close all connections."""
        await self.gateway.close()


class LocalGateway:
    """A ``Gateway`` in an event loop and a thread of its own, for callers in any thread and loop."""

    def __init__(self, config: JudgeConfig) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="judge", daemon=True).start()
        self.gateway = self._run(self._make_gateway(config)).result()

    async def _make_gateway(self, config: JudgeConfig) -> Gateway:
        return Gateway(config)

    def _run(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def ask(self, question: Question, repeat: int) -> JudgeAnswer:
        """See ``Gateway.ask``."""
        return await asyncio.wrap_future(self._run(self.gateway.ask(question, repeat)))

    def close(self) -> None:
        """Close the gateway, and end the thread."""
        self._run(self.gateway.close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)


def connect(config: JudgeConfig) -> Ask:
    """Return how to ask: through the run's actor, which the first caller starts, or a gateway of this process."""
    if not ray.is_initialized():
        local = LocalGateway(config)
        atexit.register(local.close)
        return local.ask
    options = {"name": NAME, "get_if_exists": True, "num_cpus": 0, "max_concurrency": AT_ONCE}
    options |= {"max_restarts": RESTARTS, "max_task_retries": RESTARTS, "resources": {HEAD: 0.001}}
    actor = ray.remote(GatewayActor).options(**options).remote(config.to_json())

    async def ask(question: Question, repeat: int) -> JudgeAnswer:
        answer: JudgeAnswer = await actor.ask.remote(question, repeat)
        return answer

    return ask


def report(timeout: float = 30.0) -> tuple[dict[str, float], dict[str, Any]] | None:
    """Return what the run's actor reports; None where there is none (yet), or it does not answer."""
    try:
        actor = ray.get_actor(NAME)
        reported: tuple[dict[str, float], dict[str, Any]] = ray.get(actor.report.remote(), timeout=timeout)
    except ValueError:
        return None
    except RayError as error:
        logger.warning("the judge's gateway does not report: %s", " ".join(str(error).split()))
        return None
    return reported


def close(timeout: float = 60.0) -> None:
    """Close the run's actor, if there is one, so that what it keeps is on disk before Ray ends it."""
    try:
        ray.get(ray.get_actor(NAME).close.remote(), timeout=timeout)
    except ValueError:
        return
    except RayError as error:
        logger.warning("the judge's gateway does not close: %s", " ".join(str(error).split()))

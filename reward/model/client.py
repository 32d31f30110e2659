"""A reward model as a reward function asks it, wherever it runs: encode, ask, calibrate. A failed score is no score."""

import asyncio
import functools
import logging
import math
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from reward.model.architectures.adapter import Encoded
from reward.model.encoder import Encoder
from reward.model.messages import Messages, conversation
from reward.model.spec import RUN_KEY, RewardModelSpec
from reward.support.errors import GraderFailed, GraderTimeout
from reward.support.secret import excerpt

logger = logging.getLogger(__name__)


class ScoringBackend(Protocol):
    """What computes scores."""

    def submit(self, encoded: Encoded) -> "Future[float]":
        """Return what will hold the score of one input, or its exception."""


def backend(spec: RewardModelSpec, router: str = "") -> ScoringBackend:
    """Return what scores for ``spec``: a server, actors of Ray's, or the model in this process.

    ``router`` is the address of verl's own reward model.
    """
    from reward.model.serving.server import RewardModelServer, headers

    if spec.url:
        return RewardModelServer(spec.url, spec.timeout, spec.retries, spec.served, headers())
    if spec.engine == "vllm":
        return RewardModelServer(router, spec.timeout, spec.retries, spec.path, headers(RUN_KEY))
    if spec.actors:
        from reward.model.serving.actor import Actors

        return Actors(spec.actors)
    from reward.model.serving.batcher import Batcher
    from reward.model.serving.engine import RewardEngine

    return Batcher(RewardEngine(spec).scores, spec.micro_batch)


class RewardModelClient:
    """One reward model in one process."""

    def __init__(self, spec: RewardModelSpec, router: str = "") -> None:
        self.spec = spec
        self.encoder, self.backend = Encoder(spec), backend(spec, router)
        self.lock = threading.Lock()  # a tokenizer is not for two threads

    async def score(self, messages: Messages) -> dict[str, float]:
        """Return the score of the last message.

        Returns:
            ``score``, calibrated where that was asked for; ``rm_raw``, what the model said; ``rm_truncated``, 1 where
            the conversation was cut.

        Raises:
            GraderTimeout: no answer in ``timeout`` seconds for each try.
            GraderFailed: no answer, or one that is not finite.
        """
        encoded = await asyncio.to_thread(self._encode, messages)
        longest = self.spec.timeout * (self.spec.retries + 1)
        try:
            value = await asyncio.wait_for(asyncio.wrap_future(self.backend.submit(encoded)), longest)
        except (TimeoutError, asyncio.TimeoutError):
            raise GraderTimeout(f"the reward model gave no score in {longest:g} s") from None
        except GraderFailed:
            raise
        except Exception as error:  # of torch, or of an actor of Ray's that died
            raise GraderFailed(excerpt(f"the reward model failed: {error!r}", 500)) from error
        if not math.isfinite(value):
            raise GraderFailed(f"the reward model's score is {value}")
        score = (value - self.spec.mean) / self.spec.std  # 0 and 1 unless calibrated
        return {"score": score, "rm_raw": value, "rm_truncated": float(encoded.cut > 0)}

    def _encode(self, messages: Messages) -> Encoded:
        with self.lock:
            return self.encoder.encode(messages)


_first = threading.Lock()


def client(spec: str, router: str = "") -> RewardModelClient:
    """Return this process's client of a reward model; the first call makes it."""
    with _first:
        return _client(spec, router)


@functools.lru_cache(maxsize=4)
def _client(spec: str, router: str) -> RewardModelClient:
    return RewardModelClient(RewardModelSpec.loads(spec), router)


async def rm_score(spec: str, response: str, extra_info: Mapping[str, Any]) -> dict[str, float]:
    """Score one response; ``extra_info`` holds the prompt in ``messages`` and, in training, verl's ``rm_router``.

    Raises:
        GraderFailed: no score; ``Client.score`` says when.
    """
    if extra_info.get("messages") is None:
        raise GraderFailed("a reward model reads the prompt, and the row has none")
    asked = await asyncio.to_thread(client, spec, str(extra_info.get("rm_router") or ""))
    return await asked.score(conversation(extra_info["messages"], response))


KEYS = ("score", "unscored", "timeout", "rm_score", "rm_truncated")


async def compute_model(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    model: str,
    **_: Any,
) -> dict[str, float]:
    """Score one response for verl; ``model`` is a ``RewardModelSpec`` as JSON.

    Returns:
        The keys of ``KEYS``: ``rm_score`` is what the model said, ``score`` that calibrated, if it was; ``running``
        takes place where the whole batch is (``reward/zscore.py``). Where there is no score, ``unscored`` is 1 and the
        log says why.
    """
    zeros = dict.fromkeys(KEYS, 0.0)
    try:
        result = await rm_score(model, solution_str, extra_info or {})
    except GraderFailed as error:
        logger.warning("unscored: %s", error)
        return zeros | {"unscored": 1.0, "timeout": float(isinstance(error, GraderTimeout))}
    return zeros | {"score": result["score"], "rm_score": result["rm_raw"], "rm_truncated": result["rm_truncated"]}

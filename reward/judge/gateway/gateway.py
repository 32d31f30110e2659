"""The one way to the judge: cache, merging, retries, fallback, budget, and what to do when nothing helps."""

import asyncio
import hashlib
import logging
import math
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward.judge.config import JudgeConfig
from reward.judge.failures import ACCOUNT, RETRIED, RequestFailure, one_line
from reward.judge.gateway.backend import Connect, Deadline, JudgeBackend
from reward.judge.gateway.budget import WARN_AT, Budget
from reward.judge.gateway.cache import Cache
from reward.judge.gateway.metrics import Metrics
from reward.judge.prompts.question import Question
from reward.judge.providers import connect
from reward.judge.verdict import Verdict, parse
from reward.support import events
from reward.support.wording import counted

logger = logging.getLogger(__name__)
VERSION = 2  # of the way from a reply to a verdict; part of the cache's key
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0  # seconds between attempts
LOOK_AGAIN = 5.0  # seconds at most between rounds of on_failure: wait
WAITS_LONG = 60.0  # seconds for an answer, after which it is said, and again after each so many
OUTAGE = RETRIED | ACCOUNT | {"outage"}  # what may be over later


class JudgeFailedError(Exception):
    """A sample without a verdict, under ``on_failure: raise``: no ``RewardError``, which leaves a sample unscored."""


@dataclass(frozen=True)
class JudgeAnswer:
    """What became of a question: a score on the judge's scale, or None and why."""

    raw: float | None
    why: str = ""  # a kind of ``RequestFailure``, no_verdict, outage or budget; guard where nobody was asked
    reason: str = ""  # the judge's own words
    cached: bool = False


def pause(attempt: int, retry_after: float | None) -> float:
    """Return the seconds before the next attempt: exponential with full jitter, and never less than was asked for.

    Source: Brooker, Exponential Backoff And Jitter (AWS Architecture Blog, 2015), 'full jitter'.
    """
    jitter = random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))
    return max(jitter, (retry_after or 0.0) + jitter / 10)


class Gateway:
    """Answers questions. One for the whole cluster, for one event loop."""

    def __init__(self, config: JudgeConfig, connect: Connect = connect) -> None:
        self.config = config
        self.metrics = Metrics()
        self.cache = Cache(Path(config.cache) if config.cache else None, config.run, config.resumed)
        self.budget = Budget(config.money_budget, config.token_budget, self.cache.spent_before)
        self.stop = ""  # why the run should save and end, once it should
        self.failed = ""  # why it should end as failed: verl goes on where only some samples of a batch raise
        self._warned = False
        self._in_flight: dict[bytes, asyncio.Task[JudgeAnswer]] = {}
        self._asked: dict[bytes, float] = {}  # when, of those in flight, the first one first
        self._wait_reporter: asyncio.Task[None] | None = None
        self._backends = [
            JudgeBackend(endpoint, config, self.metrics, self.budget, self.cache, connect)
            for endpoint in config.endpoints
        ]

    async def ask(self, question: Question, repeat: int = 0) -> JudgeAnswer:
        """Return the answer to ``question``; ``repeat`` tells questions apart that are to be asked anew.

        Raises:
            JudgeFailedError: there is no verdict, and ``on_failure`` is raise.
        """
        self.metrics.count("samples")
        key = self._key(self._backends[0], question, repeat)
        task = self._in_flight.get(key)
        if task is None:
            task = asyncio.ensure_future(self._answer(question, repeat, key))
            self._in_flight[key] = task
            task.add_done_callback(lambda _: self._answered(key))
            self._asked[key] = time.monotonic()
            if self._wait_reporter is None:
                self._wait_reporter = asyncio.ensure_future(self._tell_of_waits())
        else:
            self.metrics.count("merged")
        answer = await asyncio.shield(task)
        if answer.raw is None:
            self.metrics.count("unscored")
            self.metrics.count(f"unscored_{answer.why}")
            if self.config.on_failure == "raise":
                message = f"the judge gave no verdict ({answer.why}): {answer.reason}"
                self.failed = self.failed or message
                raise JudgeFailedError(message)
        return answer

    def _answered(self, key: bytes) -> None:
        del self._in_flight[key], self._asked[key]

    async def _tell_of_waits(self) -> None:
        """Say so where questions wait for long, until ``close``."""
        while True:
            oldest = time.monotonic() - next(iter(self._asked.values()), time.monotonic())
            if oldest < WAITS_LONG:
                await asyncio.sleep(WAITS_LONG - oldest)
                continue
            questions = counted(len(self._asked), "question")
            text = f"{questions} to the judge without an answer, the first for {oldest:.0f} s"
            events.warn(logger, "judge", "judge_waits", text)
            await asyncio.sleep(WAITS_LONG)

    def take_metrics(self) -> dict[str, float]:
        """Return what has happened since the last time, by metric."""
        return self.metrics.take()

    async def close(self) -> None:
        """Close clients and cache."""
        if self._wait_reporter is not None:
            self._wait_reporter.cancel()
        try:
            for backend in self._backends:
                await backend.close()
        finally:
            self.cache.close()  # here: at the end of a process no new thread can be had

    async def _answer(self, question: Question, repeat: int, key: bytes) -> JudgeAnswer:
        """Go through the endpoints; with on_failure wait, again and again."""
        waits = self.config.on_failure == "wait"
        outage = Deadline(self.config.wait_limit if waits else math.inf)
        look_again = min(LOOK_AGAIN, self.config.breaker_seconds)
        while True:
            answer = await self._round(question, repeat, key, outage)
            if answer.raw is not None or not waits or answer.why not in OUTAGE or self.stop:
                break
            if not await outage.wait(look_again):
                self._stop(f"the judge has been out of reach for {self.config.wait_limit:g} s ({answer.why})")
                break
        if answer.why in ACCOUNT and self.config.on_failure == "unscored":
            self._stop(f"the judge's account or model is refused ({answer.why}): {answer.reason}")
        return answer

    async def _round(self, question: Question, repeat: int, key: bytes, outage: Deadline) -> JudgeAnswer:
        """Ask one endpoint after another, each for a deadline, or what is left of the ``outage``."""
        answer = JudgeAnswer(None, "outage")
        for number, backend in enumerate(self._backends):
            key = self._key(backend, question, repeat) if number else key
            kept = self.cache.get(key)
            if kept is not None:
                self.metrics.count("cache_hits")
                return JudgeAnswer(kept.raw, "", kept.reason, cached=True)
            if number:
                self.metrics.count("fallbacks")
            seconds = min(self.config.deadline, outage.seconds_left)
            deadline = Deadline(seconds)
            answer = await self._verdict(backend, question, deadline)
            outage.seconds_left -= seconds - deadline.seconds_left
            if answer.raw is not None:
                self.cache.put(key, Verdict(answer.raw, answer.reason), backend.endpoint.model)
                self._warn()
                return answer
            if answer.why == "budget":
                if self.config.at_limit == "stop":
                    self._stop(answer.reason)
                return answer
        return answer

    async def _verdict(self, backend: JudgeBackend, question: Question, deadline: Deadline) -> JudgeAnswer:
        """Ask one endpoint, at most ``attempts`` times in all.

        After a reply without a verdict, or one that was cut, it is asked once more: nothing of such a reply counts.
        """
        again, last = "", RequestFailure("outage", "")
        for attempt in range(self.config.attempts):
            if attempt:
                self.metrics.count("retries")
            try:
                reply = await backend.ask(question, again, deadline)
            except RequestFailure as failure:
                last = failure
                if failure.kind == "truncated" and not again:
                    again = failure.kind
                    continue
                if failure.kind not in RETRIED:
                    break
                final = attempt + 1 == self.config.attempts
                if final or not await deadline.wait(pause(attempt, failure.retry_after)):
                    break
                continue
            verdict = parse(reply.text, question.scale)
            if verdict is not None:
                return JudgeAnswer(verdict.raw, "", one_line(verdict.reason, 1_000))
            last = RequestFailure("no_verdict", f"the reply holds no verdict: {one_line(reply.text[-400:])[-100:]!r}")
            if again:
                break
            again = last.kind
        return JudgeAnswer(None, last.kind, last.message)

    def _key(self, backend: JudgeBackend, question: Question, repeat: int) -> bytes:
        """Return the hash of everything that determines a verdict."""
        blake = hashlib.blake2b(backend.identity, digest_size=16)
        parts = (VERSION, repeat, question.scale, question.again, question.system, question.user)
        blake.update("\0".join(map(str, parts)).encode(errors="surrogatepass"))
        return blake.digest()

    def _stop(self, why: str) -> None:
        self.stop = self.stop or why

    def _warn(self) -> None:
        if not self._warned and self.budget.used >= WARN_AT:
            self._warned = True
            events.warn(
                logger, "judge", "judge", f"{self.budget.used:.0%} of the judge's budget is spent: {self.budget}"
            )

    def state(self) -> dict[str, Any]:
        """Return what the trainer acts on, beside the metrics."""
        return {"stop": self.stop, "failed": self.failed, "budget_used": self.budget.used}

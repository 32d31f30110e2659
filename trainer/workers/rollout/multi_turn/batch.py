"""Conversations of a batch, which advance together: model and partner take turns.

Requests to vLLM go in one batch for all conversations that are ready for their next turn. One that is slow, in its
partner or in its words, is waited for no longer than ``GATHER_SECONDS``, and goes with a later batch.
"""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, Protocol

from environments.text_env import EpisodeError
from trainer.workers.rollout.finished import Finished
from trainer.workers.rollout.multi_turn.conversation import Conversation, ConversationOutcome, Limits
from trainer.workers.rollout.multi_turn.turn_tokens import TurnTokens
from trainer.workers.rollout.sample_writer import RolloutSample

GATHER_SECONDS = 0.02
Request = Callable[[RolloutSample, int], dict[str, Any]]  # a sample and its turn, from 0: sampling parameters
Write = Callable[[Sequence[RolloutSample]], None]
logger = logging.getLogger(__name__)


class TurnClient(Protocol):
    """What has a model respond: ``BatchClient``, or another engine."""

    def generate_many(
        self, requests: Sequence[tuple[list[int], dict[str, Any]]], batch_id: str = ""
    ) -> AsyncIterator[Finished]:
        """Respond to each request, (token ids of the prompt, sampling parameters); yield what has finished."""
        ...


class Partner(ABC):
    """What the model talks with."""

    flag: str  # that chose it

    def __init__(self, limits: Limits, turns: TurnTokens, tokenizer: Any) -> None:
        self.limits, self.turns, self.tokenizer = limits, turns, tokenizer
        self.between = turns.fewest + 1  # tokens kept free behind a turn: the next one's beginning, and where it is cut

    def room(self, conversation: Conversation) -> int:
        """Return how many tokens the model may say in its next turn."""
        return max(1, min(self.limits.turn, self.limits.response - len(conversation.tokens) - self.between))

    @property
    def stop_tokens(self) -> list[int]:
        """Further tokens that end a turn of the model."""
        return []

    @abstractmethod
    async def begin(self, conversation: Conversation) -> None:
        """Begin a conversation.

        Raises:
            EpisodeError: it cannot begin.
        """

    @abstractmethod
    async def answer(self, conversation: Conversation, turn_ids: list[int]) -> ConversationOutcome | None:
        """Answer the model's last turn, by ``conversation.hear``; or end the conversation.

        Raises:
            EpisodeError: the partner is broken, so the conversation has no score.
        """

    @abstractmethod
    def finish(self, conversation: Conversation, outcome: ConversationOutcome, *, with_log_probs: bool) -> None:
        """Make the output of a conversation that is over."""

    @abstractmethod
    async def close(self, conversation: Conversation) -> None:
        """Forget a conversation."""


class Player:
    """Has one model talk with a partner."""

    def __init__(self, partner: Partner, client: TurnClient) -> None:
        self.partner, self.client = partner, client

    async def play(self, samples: Sequence[RolloutSample], request: Request, write: Write) -> None:
        """Hold one conversation a sample, and ``write`` each that is over; one without an output is lost."""
        await _ConversationBatch(self, samples, request, write).run()


class _ConversationBatch:
    """The conversations of one call of ``Player.play``."""

    def __init__(self, player: Player, samples: Sequence[RolloutSample], request: Request, write: Write) -> None:
        self.partner, self.client, self.request, self.write = player.partner, player.client, request, write
        self.under_way = {sample.key: Conversation(sample) for sample in samples}
        self.batch_id = samples[0].key if samples else ""
        self.ready: list[Conversation] = []
        self.changed = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Return when every conversation is over."""
        for conversation in self.under_way.values():
            self._start(conversation, self._begin(conversation))
        while self.under_way:
            await self._changed()
            deadline = time.monotonic() + GATHER_SECONDS
            while 0 < len(self.ready) < len(self.under_way) and (remaining := deadline - time.monotonic()) > 0:
                await self._changed(remaining)
            if self.ready:
                batch, self.ready = self.ready, []
                self._start(None, self._sample(batch))
        await asyncio.gather(*self.tasks)

    async def _changed(self, seconds: float | None = None) -> None:
        try:
            await asyncio.wait_for(self.changed.wait(), seconds)
        except asyncio.TimeoutError:
            return
        self.changed.clear()

    def _start(self, conversation: Conversation | None, work: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception:  # of the kit's own
                logger.exception("a conversation is lost")
                if conversation is not None:
                    await self._end(conversation)

        task = asyncio.create_task(guarded())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _begin(self, conversation: Conversation) -> None:
        try:
            await self.partner.begin(conversation)
        except EpisodeError as error:
            await self._unscored(conversation, error)
        else:
            self._is_ready(conversation)

    def _is_ready(self, conversation: Conversation) -> None:
        self.ready.append(conversation)
        self.changed.set()

    async def _sample(self, batch: list[Conversation]) -> None:
        """Have one server say the next turn of each; each goes on as soon as it has its own."""
        missing, started = dict(enumerate(batch)), time.perf_counter()
        try:
            requests = [self._request(conversation) for conversation in batch]
            async for finished in self.client.generate_many(requests, self.batch_id):
                for place, result in finished:
                    if isinstance(result, str) or not result.token_ids:
                        why = result if isinstance(result, str) else f"no token: {result.stop_reason}"
                        logger.error("no turn for uid=%s\n%s", missing[place].sample.row["uid"], why)
                    else:
                        conversation = missing.pop(place)
                        conversation.seconds += time.perf_counter() - started
                        conversation.say(result)
                        self._start(conversation, self._answer(conversation, result.token_ids))
        except Exception:
            logger.exception("%d turns are missing", len(missing))
        for conversation in missing.values():
            await self._end(conversation)

    def _request(self, conversation: Conversation) -> tuple[list[int], dict[str, Any]]:
        sampling = {
            **self.request(conversation.sample, conversation.turns),
            "max_tokens": self.partner.room(conversation),
        }
        if self.partner.stop_tokens:
            sampling["stop_token_ids"] = self.partner.stop_tokens
        return conversation.sample.prompt_ids + conversation.tokens, sampling

    async def _answer(self, conversation: Conversation, turn_ids: list[int]) -> None:
        started = time.perf_counter()
        try:
            outcome = await self.partner.answer(conversation, turn_ids)
        except EpisodeError as error:
            await self._unscored(conversation, error)
            return
        conversation.partner_seconds += time.perf_counter() - started
        if outcome is None:
            self._is_ready(conversation)
            return
        self.partner.finish(conversation, outcome, with_log_probs=self._with_log_probs(conversation))
        await self._end(conversation)

    def _with_log_probs(self, conversation: Conversation) -> bool:
        return bool(self.request(conversation.sample, 0)["logprobs"])

    async def _unscored(self, conversation: Conversation, error: EpisodeError) -> None:
        """Leave a conversation whose partner broke without a verdict: it is never a score of 0."""
        row, flag = conversation.sample.row, self.partner.flag
        logger.error("%s: the episode of uid=%s is unscored: %s", flag, row["uid"], error)
        conversation.extra.setdefault("min_global_steps", row["global_steps"])
        conversation.extra.setdefault("max_global_steps", row["global_steps"])
        if not conversation.tokens:
            conversation.hear([self.partner.tokenizer.eos_token_id])
        info = {"score": 0.0, "unscored": 1.0, "timeout": float("_timeout)" in str(error))}
        conversation.finish(info, cut=False, with_log_probs=self._with_log_probs(conversation))
        conversation.sample.fault = str(error)
        await self._end(conversation)

    async def _end(self, conversation: Conversation) -> None:
        """Hand the sample on; without an output it is lost."""
        sample = conversation.sample
        if self.under_way.pop(sample.key, None) is None:
            return
        self.changed.set()
        self.write([sample])
        await self.partner.close(conversation)

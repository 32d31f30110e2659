"""Answers that are conversations: of a model with an environment, or with tools, as a run holds them."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from verl.workers.rollout.replica import TokenOutput
from vllm import SamplingParams
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.v1.engine.async_llm import AsyncLLM

from trainer.commands.evaluation.job import Job, Tell
from trainer.workers.rollout.agent_loop import sample_seed
from trainer.workers.rollout.finished import Finished, as_finished
from trainer.workers.rollout.multi_turn.batch import Player
from trainer.workers.rollout.multi_turn.conversation import Limits
from trainer.workers.rollout.multi_turn.setting import Setting
from trainer.workers.rollout.sample_writer import RolloutSample
from trainer.workers.rollout.server import TOKENS_ONLY


class TokenizedPrompt(NamedTuple):
    """The tokens of a prompt, and its row of the data."""

    ids: list[int]
    row: dict[str, Any]


class EngineClient:
    """An engine of this process, asked as a run asks its servers (``BatchClient``)."""

    def __init__(self, engine: AsyncLLM) -> None:
        self._engine = engine

    async def generate_many(
        self, requests: Sequence[tuple[list[int], dict[str, Any]]], batch_id: str = ""
    ) -> AsyncIterator[Finished]:
        """Respond to each request, (token ids of the prompt, sampling parameters); yield what has finished."""
        async for finished in as_finished([self._generate(ids, sampling) for ids, sampling in requests]):
            yield finished

    async def _generate(self, ids: list[int], sampling: Mapping[str, Any]) -> TokenOutput:
        reply_ids: list[int] = []
        parameters = SamplingParams(**{**sampling, **TOKENS_ONLY})
        async for output in self._engine.generate({"prompt_token_ids": ids}, parameters, uuid4().hex):
            reply_ids = list(output.outputs[0].token_ids)
        return TokenOutput(token_ids=reply_ids)


def setting(job: Job) -> Setting:
    """Return what the model talks with."""
    return Setting.of_specs(job.environment, job.tools, Limits(job.most, job.most_of_turn), {}, job.is_part)


def run(
    job: Job, talk: Setting, engine: dict[str, Any], tokenizer: Any, prompts: Mapping[int, TokenizedPrompt], tell: Tell
) -> None:
    """Hold ``job.n`` conversations for each prompt, and ``tell`` those that are over."""

    async def hold() -> None:
        player = Player(
            await talk.partner(tokenizer), EngineClient(AsyncLLM.from_engine_args(AsyncEngineArgs(**engine)))
        )
        samples = {
            (row, session): RolloutSample(_row(prompt.row, row, session), prompt.ids)
            for row, prompt in prompts.items()
            for session in range(job.n)
        }

        def request(sample: RolloutSample, turn: int) -> dict[str, Any]:
            place = (int(sample.row["uid"]), int(sample.row["session_id"]))
            seed = sample_seed(job.seed, 0, *place, f"turn {turn}")
            return {"temperature": job.temperature, "seed": seed, "logprobs": None}

        await player.play(list(samples.values()), request, lambda over: tell(map(_line, over)))

    asyncio.run(hold())


def _row(row: Mapping[str, Any], number: int, session: int) -> dict[str, Any]:
    return {**row, "uid": str(number), "session_id": session, "global_steps": 0, "raw_prompt": row["prompt"]}


def _line(sample: RolloutSample) -> dict[str, Any]:
    row = int(sample.row["uid"])
    if sample.output is None:
        return {"row": row, "error": "the model said nothing"}
    info = {**sample.info, **sample.output.extra_fields.get("reward_extra_info", {})}
    return {
        "row": row,
        "response": sample.text,
        "tokens": len(sample.scored.response_ids) if sample.scored else sum(sample.output.response_mask),
        "truncated": bool(info.get("episode/cut", 0.0)),
        "turns": sample.turns,
        **info,
        **({"error": sample.fault} if sample.fault else {}),
    }

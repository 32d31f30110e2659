"""A conversation on its way: its tokens, whose they are, and what becomes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verl.experimental.agent_loop import AgentLoopOutput
from verl.workers.rollout.replica import TokenOutput

from trainer.workers.rollout.sample_writer import RolloutSample


@dataclass(frozen=True)
class Limits:
    """Tokens of a conversation after its prompt, and tokens that the model samples in a turn, at most."""

    response: int
    turn: int


class ConversationOutcome(NamedTuple):
    """A conversation that is over: what is told of it beside its score, and whether it was cut by a limit."""

    info: dict[str, Any]
    cut: bool = False


@dataclass
class Conversation:
    """One sample on its way; of its response, four numbers a token."""

    sample: RolloutSample
    tokens: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)  # 1 of the model's
    log_probs: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)  # of a turn, on its last token
    turns: int = 0  # of the model
    scores: list[float] = field(default_factory=list)  # of each turn, in an environment
    messages: list[dict[str, Any]] = field(default_factory=list)  # what was said after the prompt
    counts: dict[str, int] = field(default_factory=dict)  # of whatever the partner counts
    seconds: float = 0.0  # in vLLM
    partner_seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)  # what vLLM says of the policy's step

    def say(self, result: TokenOutput) -> None:
        """Add a turn of the model."""
        size = len(result.token_ids)
        self.turns += 1
        self._add(result.token_ids, 1, result.log_probs or [0.0] * size)
        steps = {name: result.extra_fields.get(name) for name in ("min_global_steps", "max_global_steps")}
        self.extra = {**result.extra_fields, **steps, **{k: v for k, v in self.extra.items() if k.startswith("min_")}}

    def hear(self, tokens: Sequence[int]) -> None:
        """Add tokens that are not the model's."""
        self._add(tokens, 0, [0.0] * len(tokens))

    def count(self, name: str, more: int = 1) -> None:
        """Count something of the conversation."""
        self.counts[name] = self.counts.get(name, 0) + more

    def _add(self, tokens: Sequence[int], mask: int, log_probs: Sequence[float]) -> None:
        self.tokens += tokens
        self.mask += [mask] * len(tokens)
        self.log_probs += log_probs
        self.rewards += [0.0] * len(tokens)

    def output(self, tokens: Sequence[int], mask: Sequence[int], info: dict[str, Any] | None) -> AgentLoopOutput:
        """Return an output of these response tokens, with what is told of the conversation."""
        scored = {} if info is None else {"reward_extra_info": {**info, "turns": self.sample.turns}}
        return AgentLoopOutput(
            prompt_ids=self.sample.prompt_ids,
            response_ids=list(tokens),
            response_mask=list(mask),
            routed_experts=None,
            multi_modal_data={},
            mm_processor_kwargs={},
            mm_processor_output=None,
            num_turns=2 * self.turns,
            metrics={"generate_sequences": self.seconds, "tool_calls": self.partner_seconds},
            extra_fields={**self.extra, "turn_scores": self.scores, "tool_rewards": [], **scored},
        )

    def hand_to_reward(self, tokenizer: Any, info: dict[str, Any], **extra: Any) -> None:
        """Have a reward loop score what the model said, in all its turns and nothing else.

        ``info`` is told beside what its score tells; ``extra`` is in the ``extra_info`` that a reward sees, with the
        whole conversation as ``turns``.
        """
        sample = self.sample
        tokens = tokenizer.encode(sample.text, add_special_tokens=False) or [tokenizer.eos_token_id]
        sample.info = {**info, "turns": sample.turns}
        sample.scored = self.output(tokens, [1] * len(tokens), None)
        extra_info = {**(sample.row.get("extra_info") or {}), "turns": sample.turns, **extra}
        sample.scored_row = {**sample.row, "extra_info": extra_info}

    def finish(self, info: dict[str, Any] | None, *, cut: bool, with_log_probs: bool) -> None:
        """Make the sample's output; with ``info`` its rewards are known, and none is asked for.

        Of a ``cut`` episode the last token marks where the critic's value is read.
        """
        bootstrap = [0.0] * len(self.tokens)
        bootstrap[-1] = float(cut)
        self.sample.of_tokens = {"bootstrap": bootstrap, **({} if info is None else {"rm_scores": self.rewards})}
        self.sample.turns = _encodable(self.messages)
        self.sample.output = self.output(self.tokens, self.mask, info)
        self.sample.output.response_logprobs = self.log_probs if with_log_probs else None


def _encodable(value: Any) -> Any:
    """Return messages without halves of surrogate pairs, which JSON escapes in a call spell and UTF-8 has not."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {name: _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value

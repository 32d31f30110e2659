"""Episodes of an environment, which answers each turn of the model and pays for it."""

import json
from typing import Any

from environments.episodes import Episodes, Turn
from environments.spec import EnvSpec
from trainer.workers.rollout.multi_turn.batch import Partner
from trainer.workers.rollout.multi_turn.conversation import Conversation, ConversationOutcome, Limits
from trainer.workers.rollout.multi_turn.turn_tokens import TurnTokens

OF_SCORE = ("score", "unscored", "timeout")  # what a reward loop tells too


class Environment(Partner):
    """An environment, with an episode a conversation; its rewards are all of the reward, or one part (``is_part``)."""

    flag = "--env"

    def __init__(
        self, spec: EnvSpec, limits: Limits, turns: TurnTokens, tokenizer: Any, *, is_part: bool = False
    ) -> None:
        super().__init__(limits, turns, tokenizer)
        self.episodes, self.is_part = Episodes(spec), is_part

    async def begin(self, conversation: Conversation) -> None:
        """Begin the episode of the row's seed."""
        extra = conversation.sample.row.get("extra_info") or {}
        seed = int(json.loads(extra["more"])["seed"] if extra.get("more") else extra["seed"])
        await self.episodes.reset(conversation.sample.key, seed)

    async def answer(self, conversation: Conversation, turn_ids: list[int]) -> ConversationOutcome | None:
        """Take the model's words for an action; a turn's reward stands on its last token."""
        text = self.tokenizer.decode(turn_ids, skip_special_tokens=True)
        said_message: dict[str, Any] = {"role": "assistant", "content": text}
        conversation.messages.append(said_message)
        turn = await self.episodes.step(conversation.sample.key, text)
        heard = [{"role": "user", "content": turn.observation}]
        conversation.messages += heard
        conversation.rewards[-1] += turn.reward
        conversation.scores.append(turn.reward)
        said_message["reward"] = turn.reward
        conversation.count("invalid", bool(turn.info.get("invalid")))
        if turn.terminated:
            return self._outcome(conversation, turn, cut=False)
        tokens = self.turns.following(turn_ids, heard)
        free = self.limits.response - len(conversation.tokens) - len(tokens) - self.between
        if turn.truncated or free < self.limits.turn:
            room = self.limits.response - len(conversation.tokens) - 1
            # The token behind the beginning of the next turn is read by nobody: its value is that of the state there.
            end = tokens[max(0, len(tokens) - room) :]
            conversation.hear([*end, self.tokenizer.eos_token_id])
            return self._outcome(conversation, turn, cut=True)
        conversation.hear(tokens)
        return None

    def _outcome(self, conversation: Conversation, turn: Turn, *, cut: bool) -> ConversationOutcome:
        total, success = sum(conversation.scores), turn.info.get("success")
        info = {
            "score": total,
            **({} if success is None else {"acc": float(success)}),
            "unscored": 0.0,
            "timeout": 0.0,
            "episode/return": total,
            "episode/turns": float(conversation.turns),
            "episode/invalid": float(conversation.counts.get("invalid", 0)),
            "episode/cut": float(cut),
        }
        return ConversationOutcome(info, cut)

    def finish(self, conversation: Conversation, outcome: ConversationOutcome, *, with_log_probs: bool) -> None:
        """The environment's rewards are the sample's, or one part of them: then a reward loop adds the others."""
        info = outcome.info
        if not self.is_part:
            conversation.finish(info, cut=outcome.cut, with_log_probs=with_log_probs)
            return
        conversation.finish(None, cut=outcome.cut, with_log_probs=with_log_probs)
        conversation.sample.paid = conversation.rewards
        beside = {name: value for name, value in info.items() if name not in OF_SCORE}
        conversation.hand_to_reward(self.tokenizer, beside, episode_return=info["score"])

    async def close(self, conversation: Conversation) -> None:
        """Forget the episode."""
        await self.episodes.close(conversation.sample.key)

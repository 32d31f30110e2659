"""One sample to its score: guard, question, gateway, and the dict that training reads."""

from collections.abc import Awaitable, Callable
from typing import Any

from reward.judge.config import JudgeConfig
from reward.judge.gateway.gateway import JudgeAnswer
from reward.judge.prompts.guards import guard
from reward.judge.prompts.question import Question, conversation

KEYS = ("score", "acc", "unscored", "judge_score", "judge_raw", "judge_cached", "judge_guarded")
Ask = Callable[[Question, int], Awaitable[JudgeAnswer]]


class Judge:
    """Scores samples by way of ``ask``: a gateway here, or the cluster's."""

    def __init__(self, config: JudgeConfig, ask: Ask) -> None:
        self.config, self.prompts = config, config.prompts
        self.ask = ask

    async def answer(
        self, prompt: Any, response: str, ground_truth: Any = None, repeat: int = 0
    ) -> tuple[JudgeAnswer, Question]:
        """Return the answer about ``response``, guarded ones too, and the question.

        Args:
            prompt: a text or the messages of a chat.
            response: what the policy wrote.
            ground_truth: a text; None where there is none.
            repeat: a number by which the same question is asked anew.

        Raises:
            JudgeFailedError: there is no verdict, and the configuration says to raise.
        """
        prompt_text, truth = conversation(prompt), "" if ground_truth is None else str(ground_truth)
        question = self.prompts.question(prompt_text, response, truth)
        why = guard(prompt_text, response, truth)
        if why is not None:
            return JudgeAnswer(question.scale.low, "guard", why), question
        return await self.ask(question, repeat), question

    async def score(self, prompt: Any, response: str, ground_truth: Any = None, repeat: int = 0) -> dict[str, float]:
        """Return the keys of ``KEYS``: ``score`` in [0, 1], or ``unscored`` 1; ``judge_raw`` is on the scale."""
        answer, question = await self.answer(prompt, response, ground_truth, repeat)
        return result(answer, question)


def result(answer: JudgeAnswer, question: Question) -> dict[str, float]:
    """Return an answer as training reads it."""
    fields = dict.fromkeys(KEYS, 0.0)
    if answer.raw is None:
        return fields | {"unscored": 1.0}
    score = question.scale.unit(answer.raw)
    fields |= {"score": score, "acc": score, "judge_score": score, "judge_raw": answer.raw}
    return fields | {"judge_cached": float(answer.cached), "judge_guarded": float(answer.why == "guard")}

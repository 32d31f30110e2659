"""What stands between two turns of the model, in tokens: taken from the chat template, whatever the model.

A conversation is extended by tokens: what the model sampled stays as it is, and what follows is the end of its turn,
the answer to it, and the beginning of its next turn, as the chat template writes them.

verl's ``create_continuous_token_builder`` has a class a model type and a default, which loses what a template writes
behind the end of a turn: the newline after ``<|im_end|>`` of SmolLM2, whose type is ``llama``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Message = dict[str, Any]  # role, content
ANSWER = "TheAnswerOfTheModel"  # stands for it in a rendered conversation


class TurnTokens:
    """Makes the tokens that follow a turn of the model.

    Args:
        tokenizer: with a chat template.
        template_kwargs: what ``apply_chat_template`` is handed beside the messages.

    Raises:
        ValueError: the chat template does not write what the model answered.
    """

    def __init__(self, tokenizer: Any, template_kwargs: Mapping[str, Any] | None = None) -> None:
        self._tokenizer, self._kwargs = tokenizer, dict(template_kwargs or {})
        added = tokenizer.added_tokens_decoder
        texts = sorted({str(token).strip() for token in added.values()}, key=len, reverse=True)
        control = [re.escape(text) for text in texts if len(text) > 1]
        self._control = re.compile("|".join(control)) if control else None
        self._special = {number for number, token in added.items() if token.special}
        if tokenizer.eos_token_id is not None:
            self._special.add(tokenizer.eos_token_id)
        self.fewest = len(self.following([], [{"role": "user", "content": ""}]))  # tokens between two turns

    def following(self, turn: Sequence[int], answers: Sequence[Message]) -> list[int]:
        """Return the tokens between ``turn``, as the model sampled it, and its next turn.

        A token with which the model has ended its turn is not written again; a turn that was cut off is ended.
        Control tokens that the contents of ``answers`` spell are text: a space is put into them.
        """
        harmless = [
            {**message, "content": self.harmless(message["content"]), **_call_id(message, place)}
            for place, message in enumerate(answers, 1)
        ]
        tokens: list[int] = self._tokenizer.encode(self._text(harmless), add_special_tokens=False)
        last = turn[-1] if turn else None
        if last in self._special and last in tokens:
            return tokens[tokens.index(last) + 1 :]
        return tokens

    def harmless(self, text: str) -> str:
        """Return ``text`` with a space in whatever the tokenizer would take for a control token."""
        while self._control is not None and self._control.search(text):
            text = self._control.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
        return text

    def _text(self, answers: Sequence[Message]) -> str:
        messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": ANSWER}, *answers]
        text: str = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **self._kwargs
        )
        if ANSWER not in text:
            raise ValueError(
                "the model's chat template leaves out what the model said; --env and --tools need one that keeps it"
            )
        return text.partition(ANSWER)[2]


def _call_id(message: Message, place: int) -> dict[str, str]:
    """Return what some templates want of a tool's answer: the id of its call, 9 characters in Mistral's."""
    return {"tool_call_id": f"call{place:05}"} if message["role"] == "tool" else {}

"""What stands between two turns of the model, in tokens: taken from the chat template, whatever the model.

A conversation is extended by tokens: what the model sampled stays as it is, and what follows is the end of its turn,
the answer to it, and the beginning of its next turn, as the chat template writes them.

verl's ``create_continuous_token_builder`` has a class a model type and a default, which loses what a template writes
behind the end of a turn: the newline after ``<|im_end|>`` of SmolLM2, whose type is ``llama``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Message = dict[str, Any]  # role, content
SPOKEN = "content", "name"  # of a message: what the template writes of it
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
        self._control = _pattern(map(str, added.values()))
        self._normalizer = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
        normalized = [str(token) for token in added.values() if token.normalized and str(token).strip()]
        self._normalized_control = _pattern([*normalized, *map(self._normalized, normalized)])
        self._special = {number for number, token in added.items() if token.special}
        if tokenizer.eos_token_id is not None:
            self._special.add(tokenizer.eos_token_id)
        self.fewest = len(self.following([], [{"role": "user", "content": ""}]))  # tokens between two turns

    def following(self, turn: Sequence[int], answers: Sequence[Message]) -> list[int]:
        """Return the tokens between ``turn``, as the model sampled it, and its next turn.

        A token with which the model has ended its turn is not written again; a turn that was cut off is ended.
        Control tokens that the contents of ``answers`` spell are text: a space is put into them. So are those that the
        name of a tool spells, which is as the model wrote it.
        """
        harmless = [
            {**message, **{key: self.harmless(message[key]) for key in SPOKEN if key in message}}
            | _call_id(message, place)
            for place, message in enumerate(answers, 1)
        ]
        tokens: list[int] = self._tokenizer.encode(self._text(harmless), add_special_tokens=False)
        last = turn[-1] if turn else None
        if last in self._special and last in tokens:
            return tokens[tokens.index(last) + 1 :]
        return tokens

    def harmless(self, text: str) -> str:
        """Return ``text`` with a space in whatever the tokenizer would take for a control token.

        Halves of surrogate pairs, which no tokenizer takes, become question marks.
        """
        text = _apart(self._control, text.encode(errors="replace").decode())
        control, normalized = self._normalized_control, self._normalized(text)
        if control is None or not control.search(normalized):
            return text
        text = _apart(self._control, _apart(control, normalized))
        while control.search(text := self._normalized(text)):  # the normalizer takes out spaces
            text = control.sub("", text)
        return text

    def _normalized(self, text: str) -> str:
        """Return ``text`` as the tokenizer reads it: NFKC makes ``<`` of a full-width one."""
        return text if self._normalizer is None else str(self._normalizer.normalize_str(text))

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


def _pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """Return what finds these, the longest first; a character alone is no control token."""
    stripped = sorted({text.strip() for text in texts}, key=len, reverse=True)
    control = [re.escape(text) for text in stripped if len(text) > 1]
    return re.compile("|".join(control)) if control else None


def _apart(control: re.Pattern[str] | None, text: str) -> str:
    """Return ``text`` with a space in whatever ``control`` finds."""
    while control is not None and control.search(text):
        text = control.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
    return text


def _call_id(message: Message, place: int) -> dict[str, str]:
    """Return what some templates want of a tool's answer: the id of its call, 9 characters in Mistral's."""
    return {"tool_call_id": f"call{place:05}"} if message["role"] == "tool" else {}

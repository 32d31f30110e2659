"""The model of a chat: it says one turn at a time, and what it says can be read as it comes."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from trainer.settings.settings import Settings
from trainer.user_error import say


class Speaker:
    """A model; its turns are the likeliest, unless a temperature was given.

    ``said`` has the tokens of its last turn.
    """

    def __init__(self, settings: Settings, folder: str) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self._device = "cuda" if settings.text("DEVICE") == "cuda" else "cpu"
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        dtype = getattr(torch, settings.text("DTYPE"))
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, trust_remote_code=False)
        self._model = model.to(self._device).eval()
        self._sampling: dict[str, Any] = {"do_sample": False}
        if "ROLLOUT_TEMPERATURE" in settings.explicit:
            self._sampling = {"do_sample": True, "temperature": settings.number("ROLLOUT_TEMPERATURE")}
            torch.manual_seed(settings.integer("SEED"))
        self.limit = int(getattr(self._model.config.get_text_config(), "max_position_embeddings", 1 << 20))
        self.reply_ids: list[int] = []

    def prompt(self, turns: Sequence[dict[str, Any]], tools: Any = None) -> list[int]:
        """Return the tokens of a conversation, up to where the model's next turn begins."""
        encoded = self.tokenizer.apply_chat_template(turns, tools=tools, add_generation_prompt=True, return_dict=True)
        return [int(token) for token in encoded["input_ids"]]

    def speak(self, ids: Sequence[int], most: int, ends: Sequence[int] = ()) -> Iterator[str]:
        """Say up to ``most`` tokens after ``ids``, piece by piece; the tokens of ``ends`` end the turn too."""
        from threading import Thread

        import torch
        from transformers import TextIteratorStreamer

        streamer = TextIteratorStreamer(self.tokenizer, skip_prompt=True, skip_special_tokens=True)
        self.reply_ids, wrong = [], list[Exception]()
        options: dict[str, Any] = {"max_new_tokens": min(most, self.limit - len(ids)), "streamer": streamer}
        if ends:
            eos_ids = self._model.generation_config.eos_token_id
            options["eos_token_id"] = [*(eos_ids if isinstance(eos_ids, list) else [eos_ids]), *ends]

        def generate() -> None:
            prompt = torch.tensor([list(ids)], device=self._device)
            try:
                whole = self._model.generate(
                    prompt, attention_mask=torch.ones_like(prompt), **options, **self._sampling
                )
                self.reply_ids = whole[0, len(ids) :].tolist()
            except Exception as error:  # told by who reads the pieces
                wrong.append(error)
                streamer.end()

        thread = Thread(target=generate, daemon=True)
        thread.start()
        yield from streamer
        thread.join()
        if wrong:
            raise wrong[0]


class Talk(ABC):
    """A conversation of a person with a model."""

    hint = "/reset starts over, /quit (or Ctrl-D) exits"
    takes_empty = False  # lines without a word

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    @abstractmethod
    def reset(self) -> Iterator[str]:
        """Begin anew; return what is to be read first."""

    @abstractmethod
    def answer(self, line: str) -> Iterator[str]:
        """Take a person's line; return what comes of it, piece by piece."""

    def close(self) -> None:
        """End what the conversation has started."""
        return

    def too_long(self) -> None:
        """Say that the model cannot read any more."""
        tell(f"that is too long: the model takes {self.speaker.limit:,} tokens")


def tell(text: str) -> None:
    """Say something of the chat's own, beside the conversation."""
    say(text, sys.stderr)

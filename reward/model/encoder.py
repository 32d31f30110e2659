"""From a conversation to the input of one reward model: cleaned, made to fit, in the model's own words and ids."""

from pathlib import Path
from typing import Any

from reward.model.architectures.adapter import Adapter, Encoded
from reward.model.architectures.kinds import adapter_of
from reward.model.architectures.weights import read_json
from reward.model.errors import RewardModelError
from reward.model.fit import Fitted, fit
from reward.model.imports import transformers
from reward.model.messages import Messages, cleaned, pattern, special_tokens
from reward.model.spec import RewardModelSpec
from reward.support.errors import GraderFailed
from reward.support.secret import excerpt


def read_config(folder: Path) -> dict[str, Any]:
    """Return ``config.json``.

    Raises:
        RewardModelError: there is none that can be read.
    """
    file = folder / "config.json"
    if not file.is_file():
        raise RewardModelError("the folder has no config.json; give a Hugging Face model folder")
    return read_json(file)


def load_tokenizer(spec: RewardModelSpec) -> Any:
    """Load the reward model's tokenizer.

    Raises:
        RewardModelError: it has none.
    """
    place, library = spec.tokenizer or spec.path, transformers()
    try:
        return library.AutoTokenizer.from_pretrained(place, trust_remote_code=spec.trust_remote_code)
    except Exception as error:  # whatever transformers raises for a missing or broken one
        reason = excerpt(str(error).strip().splitlines()[0], 200) if str(error).strip() else type(error).__name__
        raise RewardModelError(f"its tokenizer cannot be loaded; give one with --rm_tokenizer: {reason}") from error


class Encoder:
    """Encodes conversations for one reward model. Thread-safe as far as its tokenizer is."""

    def __init__(self, spec: RewardModelSpec, adapter: Adapter | None = None, tokenizer: Any = None) -> None:
        self.config = read_config(Path(spec.path))
        self.adapter = adapter or adapter_of(self.config, spec.template or None, spec.adapter)
        self.tokenizer = tokenizer or load_tokenizer(spec)
        self.limit = min(spec.max_length or 1 << 30, self.adapter.limit(self.config))
        self.control = pattern({*special_tokens(self.tokenizer), *spec.policy_tokens})

    def fitted(self, messages: Messages) -> Fitted:
        """Return the conversation as the model's template gets it.

        Raises:
            GraderFailed: it cannot be made to fit, or the template refuses it.
        """
        try:
            clean = cleaned(messages, self.control)
            return fit(clean, lambda turns: len(self._encode(turns).ids), self.limit, self.tokenizer)
        except Exception as error:  # a template raises what it likes
            raise GraderFailed(f"the reward model cannot be given this conversation: {error}") from error

    def text(self, messages: Messages) -> str:
        """Return the exact text that the model sees.

        Raises:
            GraderFailed: as ``fitted``.
        """
        return self.adapter.text(self.tokenizer, self.fitted(messages).messages)

    def encode(self, messages: Messages) -> Encoded:
        """Return the model's input.

        Raises:
            GraderFailed: as ``fitted``.
        """
        fitted = self.fitted(messages)
        encoded = self._encode(fitted.messages)
        return Encoded(encoded.ids, encoded.types, encoded.mark, encoded.cut + fitted.cut, encoded.pad)

    def _encode(self, messages: Messages) -> Encoded:
        return self.adapter.encode(self.tokenizer, messages)

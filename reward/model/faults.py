"""What can be said against a reward model without its weights: told in one go, before anything is started."""

from pathlib import Path
from typing import Any

from reward.model.architectures.adapter import Adapter, Config
from reward.model.architectures.classification import SequenceClassification
from reward.model.architectures.kinds import adapter_of
from reward.model.architectures.weights import names, read_json
from reward.model.encoder import load_tokenizer, read_config
from reward.model.errors import RewardModelError
from reward.model.imports import transformers
from reward.model.messages import conversation
from reward.model.spec import RewardModelSpec
from reward.support.secret import excerpt


def faults(spec: RewardModelSpec) -> list[str]:
    """Return what is wrong with the model of ``spec``, one line each.

    Of a running server only the configuration and the tokenizer are looked at: its weights are elsewhere.
    """
    folder = Path(spec.path)
    try:
        config = read_config(folder)
        adapter = adapter_of(config, spec.template or None, spec.adapter)
        lines = [] if spec.trust_remote_code else _code(spec, config, adapter)
        if lines:
            return lines
        tokenizer = load_tokenizer(spec)
    except RewardModelError as error:
        return list(error.faults)
    lines += adapter.faults(config, tokenizer) or _template(adapter, tokenizer)
    lines += _vocabulary(config, tokenizer)
    if not spec.url:
        try:
            weight_names = names(folder)
            missing = (
                []
                if weight_names is None
                else [name for name in adapter.weight_names(config) if name not in weight_names]
            )
            lines += [f"its weights lack {', '.join(missing)}: not a whole reward model"] * bool(missing)
        except RewardModelError as error:
            lines += error.faults
    return lines


def _code(spec: RewardModelSpec, config: Config, adapter: Adapter) -> list[str]:
    """Code that the model cannot do without, or that verl's reward workers would run unasked: a tokenizer's.

    Raises:
        RewardModelError: tokenizer_config.json cannot be read.
    """
    file = Path(spec.tokenizer or spec.path) / "tokenizer_config.json"
    parts = ["tokenizer"] * (file.is_file() and "auto_map" in read_json(file))
    has_own_class = type(adapter) is SequenceClassification and "auto_map" in config  # the others bring their classes
    parts += ["model"] * (has_own_class and config.get("model_type") not in transformers().CONFIG_MAPPING)
    subject = f"its {' and '.join(parts)} {'bring' if len(parts) > 1 else 'brings'} code"
    return [f"{subject} of its own; read it, and allow it with --rm_trust_remote_code"] if parts else []


def _template(adapter: Adapter, tokenizer: Any) -> list[str]:
    """A template that is broken, or refuses the simplest conversation."""
    try:
        adapter.encode(tokenizer, conversation("2+2?", "4"))
    except Exception as error:  # a template raises what it likes
        reason = str(error).strip().splitlines() or [type(error).__name__]
        why = excerpt(reason[0], 200)
        return [f"its chat template does not take a conversation ({why}); give another with --rm_template"]
    return []


def _vocabulary(config: Any, tokenizer: Any) -> list[str]:
    text = config.get("text_config") or config
    size, largest = int(text.get("vocab_size") or 0), max(tokenizer.get_vocab().values(), default=0)
    if size and largest >= size:
        return [
            f"its tokenizer has ids up to {largest:,} and its embedding {size:,} rows: they are not of one model; "
            "give the right tokenizer with --rm_tokenizer"
        ]
    return []

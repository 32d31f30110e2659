"""The kinds of reward models, by the architecture that ``config.json`` names, and what is told of any other model."""

from pathlib import Path
from typing import Any

from reward.model.architectures.adapter import Adapter, Config
from reward.model.architectures.armorm import ArmoRM
from reward.model.architectures.classification import SequenceClassification, architecture
from reward.model.architectures.pair import QuestionAnswer
from reward.model.architectures.starling import Starling
from reward.model.errors import RewardModelError
from reward.support.user_file import import_file

# Architecture -> the class of its adapter. Any other *ForSequenceClassification is a SequenceClassification, if its
# tokenizer has a chat template, or one is given.
KINDS: dict[str, type[SequenceClassification]] = {
    "LlamaForRewardModelWithGating": ArmoRM,
    "GPTRewardModel": Starling,
    "DebertaV2ForSequenceClassification": QuestionAnswer,
}
HOW = "see docs/reward_models.md: an adapter takes ten lines, given as --rm_adapter path.py:name"
GENERATES = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")


def adapter_of(config: Config, template: str | None = None, adapter_file: str = "") -> Adapter:
    """Return the adapter of a model with this ``config.json``.

    Args:
        config: the model's ``config.json``.
        template: a chat template in place of the tokenizer's.
        adapter_file: ``path.py:name`` of an adapter of the user's, which goes first.

    Raises:
        RewardModelError: it is no reward model, or of no known kind.
    """
    if adapter_file:
        return load_adapter(adapter_file)
    name = architecture(config)
    if name in KINDS:
        return KINDS[name](template=template)
    if name.endswith("ForSequenceClassification"):
        return SequenceClassification(template=template)
    if name.endswith(GENERATES):
        raise RewardModelError(
            f"it is a language model ({name}), which writes text and gives no score; let it judge instead "
            "(--use_api_reward), or give a reward model"
        )
    named = ", ".join(f"{key} {config[key]!r}" for key in ("architectures", "model_type", "auto_map") if key in config)
    raise RewardModelError(f"a reward model of a kind that is not known ({named or 'an empty config.json'}); {HOW}")


def load_adapter(spec: str) -> Adapter:
    """Return the adapter ``path.py:name``; a class is called without arguments.

    Raises:
        RewardModelError: it is not there, breaks, or is no adapter.
    """
    place, _, name = spec.rpartition(":")
    path = Path(place).expanduser().resolve()
    if not place.endswith(".py") or not path.is_file():
        raise RewardModelError(f"--rm_adapter {spec}: path.py:name is wanted, and there is no file {place or spec!r}")
    try:
        module = import_file(path, "rm_adapter")
        adapter: Any = getattr(module, name)
        adapter = adapter() if isinstance(adapter, type) else adapter
    except Exception as error:  # a stranger's file
        raise RewardModelError(f"--rm_adapter {spec}: {error!r}") from error
    wanted = [method for method in vars(Adapter) if not method.startswith("_")]
    missing = [method for method in wanted if not callable(getattr(adapter, method, None))]
    if missing:
        raise RewardModelError(f"--rm_adapter {spec}: it has no {', '.join(missing)}; derive SequenceClassification")
    return adapter  # type: ignore[no-any-return]

"""Miniatures with random weights, from ``config.json`` and tokenizer alone: no weights of the model are read.

Run as ``python -m trainer.commands.rehearsal.miniature JOB.json``, which writes the folder ``target`` of the job.
"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reward.model.imports import transformers
from reward.support.secret import excerpt
from trainer.checks.policy_model import NO_TEMPLATE
from trainer.commands.rehearsal.config_cut import CutError, cut
from trainer.user_error import UserError

SCALE = 0.02  # standard deviation of the weights, where the configuration names none
PLAIN_TEMPLATE = "{% for message in messages %}{{ message.role + ': ' + message.content + '\n' }}{% endfor %}"
# Architectures that have trained with vLLM's CPU build in a rehearsal; others are tried first.
PROVEN = ("gemma2", "llama", "mistral", "phi3", "qwen2", "qwen3")


@dataclass(frozen=True)
class ModelSource:
    """A model as its miniature needs it: ``name`` is a folder or of the hub, ``flag`` what names it."""

    name: str
    flag: str
    scores: bool = False  # a reward model
    stand_in: bool = False  # a plain Llama with this tokenizer and vocabulary, as the architecture cannot be used

    @property
    def title(self) -> str:
        """The source as a person named it."""
        return f"--{self.flag} {self.name}"


@dataclass(frozen=True)
class Architecture:
    """What a ``config.json`` says that a rehearsal goes by."""

    name: str  # the class, such as Qwen2ForCausalLM
    kind: str  # model_type
    head_size: int


def read(source: ModelSource) -> Architecture:
    """Look at a model's configuration and tokenizer.

    Raises:
        UserError: either cannot be read or used, with every fault.
    """
    transformers().logging.set_verbosity_error()  # what it warns of is told as a fault, or is none
    faults, architecture = [], None
    try:
        config = _config(source)
        small = cut(_standard(config))
        size = small.get("head_dim") or small["hidden_size"] // small["num_attention_heads"]
        name = next(iter(config.architectures or []), type(config).__name__.replace("Config", ""))
        architecture = Architecture(str(name), str(config.model_type), int(size))
    except CutError as error:
        faults.append(f"{source.title}: config.json cannot be made smaller: {error}")
    except UserError as error:
        faults += error.faults
    faults += _tokenizer_faults(source)
    if faults or architecture is None:
        raise UserError(*faults)
    return architecture


def _config(source: ModelSource) -> Any:
    """Return transformers' configuration of a model.

    Raises:
        UserError: it cannot be read, or transformers has no such architecture.
    """
    library = transformers()
    try:
        config = library.AutoConfig.from_pretrained(source.name, trust_remote_code=False)
    except Exception as error:  # of a stranger's file
        raise UserError(f"{source.title}: {_fault_of_config(error)}") from None
    known = library.AutoModelForSequenceClassification if source.scores else library.AutoModelForCausalLM
    if config.get_text_config() is not config:
        raise UserError(
            f"{source.title}: its config.json is of a model with several kinds of input ({config.model_type}), and "
            "there are miniatures of text models alone; rehearse with one of the same family"
        )
    if type(config) not in known._model_mapping:
        what = "scores" if source.scores else "writes text"
        raise UserError(f"{source.title}: transformers has no {config.model_type} that {what}; take another model")
    return config


def _fault_of_config(error: Exception) -> str:
    text = excerpt(" ".join(str(error).split()), 200)
    if isinstance(error, ValueError) and ("model_type" in text or "does not recognize" in text):
        return (
            "its architecture is unknown to the transformers that is installed "
            f"({library_version()}); take another model, or another version of the kit"
        )
    return f"its config.json cannot be read: {text}; give a Hugging Face model folder, or a name of the hub"


def library_version() -> str:
    """Return the version of transformers."""
    return str(transformers().__version__)


def _tokenizer_faults(source: ModelSource) -> list[str]:
    try:
        tokenizer = transformers().AutoTokenizer.from_pretrained(source.name, trust_remote_code=False)
    except Exception as error:  # of a stranger's files
        text = excerpt(" ".join(str(error).split()), 200)
        return [f"{source.title}: its tokenizer cannot be read: {text}; put the tokenizer's files beside config.json"]
    if not source.scores and not tokenizer.chat_template:
        return [f"{source.title}: {NO_TEMPLATE}"]  # in the words of the dry run before it, which says so where it can
    return []


def write(source: ModelSource, target: Path, seed: int) -> int:
    """Write the miniature to the folder ``target``; return its number of parameters."""
    import torch

    library = transformers()
    torch.manual_seed(seed)
    tokenizer = library.AutoTokenizer.from_pretrained(source.name, trust_remote_code=False)
    if not tokenizer.chat_template:  # a reward model's, whose adapter has a template of its own
        tokenizer.chat_template = PLAIN_TEMPLATE
    config = _stand_in(source, tokenizer) if source.stand_in else _small(source)
    if source.scores:
        config.pad_token_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        model = library.AutoModelForSequenceClassification.from_config(config)
    else:
        model = library.AutoModelForCausalLM.from_config(config)
        model.generation_config = _generation_config(source, model)
    model.to(torch.float32).save_pretrained(target)
    tokenizer.save_pretrained(target)
    return int(model.num_parameters())


def _small(source: ModelSource) -> Any:
    config = _config(source)
    small, names = cut(_standard(config)), dict(config.attribute_map)
    config_cut = type(config).from_dict({names.get(name, name): value for name, value in small.items()})
    config_cut.dtype = "float32"
    return config_cut


def _standard(config: Any) -> dict[str, Any]:
    """Return a configuration by the standard names of transformers; GPT-2 writes ``n_layer`` and its like."""
    standard_names = {written: name for name, written in config.attribute_map.items()}
    return {standard_names.get(name, name): value for name, value in config.to_dict().items()}


def _stand_in(source: ModelSource, tokenizer: Any) -> Any:
    """Return a plain Llama with the vocabulary of ``source``."""
    vocabulary = max(len(tokenizer), int(getattr(_read_config(source), "vocab_size", 0) or 0))
    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32768}
    tokens = {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": tokenizer.bos_token_id}
    return transformers().LlamaConfig(vocab_size=vocabulary, num_labels=1, **sizes, **heads, **tokens)


def _read_config(source: ModelSource) -> Any:
    return transformers().AutoConfig.from_pretrained(source.name, trust_remote_code=False)


def _generation_config(source: ModelSource, model: Any) -> Any:
    """Return what the model says of ends of answers and of sampling, where it has a file for that."""
    try:
        return transformers().GenerationConfig.from_pretrained(source.name)
    except OSError:
        return model.generation_config


def dump_job(source: ModelSource, target: Path, seed: int, path: Path) -> None:
    """Write what ``write`` is to be called with."""
    path.write_text(json.dumps({"source": asdict(source), "target": str(target), "seed": seed}), encoding="utf-8")


if __name__ == "__main__":
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(f"parameters {write(ModelSource(**job['source']), Path(job['target']), job['seed'])}")

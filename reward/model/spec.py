"""What is to be known of a reward model to score with it, as JSON for verl's configuration."""

import json
from dataclasses import asdict, dataclass

from reward.support import json_text

ENGINES = ("auto", "vllm", "transformers")
RUN_KEY = "KIT_SERVER_KEY"  # environment variable: what the servers that the run starts itself ask for
NORMALIZE = ("raw", "calibrated", "running")


@dataclass(frozen=True)
class RewardModelSpec:
    """A reward model and how it is asked."""

    path: str  # a folder
    engine: str = "transformers"  # or vllm; auto only in a dry run that does not know the model
    tokenizer: str = ""  # a folder or a name of the hub; empty: path
    template: str = ""  # a chat template, its text; empty: the tokenizer's
    adapter: str = ""  # path.py:name
    trust_remote_code: bool = False
    dtype: str = "float32"
    device: str = "cpu"  # as torch names it
    micro_batch: int = 16  # conversations a forward pass
    max_length: int = 0  # tokens; 0: as many as the adapter says
    own_gpus: bool = False  # whether each actor has a GPU that the policy does not use
    url: str = ""  # of a running server
    served: str = ""  # the model's name there
    actors: int = 0  # of Ray's that hold it; 0: it is in the process that asks
    timeout: float = 120.0  # seconds for one score
    retries: int = 3  # further tries
    policy_tokens: tuple[str, ...] = ()  # control tokens of the policy, removed from every text
    normalize: str = "raw"
    mean: float = 0.0  # of normalize: calibrated
    std: float = 1.0

    def dumps(self) -> str:
        """Return the JSON text, in which nothing looks like an interpolation."""
        return json_text.dumps(asdict(self))

    @staticmethod
    def loads(text: str) -> "RewardModelSpec":
        """Return what ``dumps`` wrote."""
        read = json.loads(text)
        return RewardModelSpec(**{**read, "policy_tokens": tuple(read.get("policy_tokens", ()))})

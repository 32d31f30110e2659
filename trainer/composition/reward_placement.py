"""Where a reward model is in a run: verl's own vLLM server, actors of the transformers engine, or a running server."""

from reward.model.spec import RewardModelSpec
from trainer.settings.resolve import rollout_gpus
from trainer.settings.settings import Settings

BATCHED = 8192  # tokens a forward pass of vLLM


def environment(settings: Settings, spec: RewardModelSpec | None) -> dict[str, str]:
    """Return the env vars that ``config/reward/model.yaml`` and ``config/device/cpu.yaml`` read.

    A pool of its own (``--rm_gpus``) scores while the policy still answers; without one verl's server shares the
    policy's GPUs, scores when all have answered, and sleeps while the policy trains.
    """
    cuda, ranks = settings.text("DEVICE") == "cuda", settings.integer("N_GPUS")
    by_verl = spec is not None and spec.engine == "vllm" and not spec.url
    own_gpus = settings.integer("RM_GPUS") if by_verl else 0
    parallel = settings.integer("ROLLOUT_TP_SIZE")
    length = spec.max_length if spec else 0
    return {
        "KIT_REWARD_MODEL": spec.dumps() if spec else "",
        "KIT_RM_PATH": spec.path if spec else "",
        "KIT_RM_VLLM": str(by_verl).lower(),
        "KIT_RM_POOL": str(own_gpus > 0).lower(),
        "KIT_RM_SLEEPS": str(cuda and not own_gpus).lower(),  # vLLM cannot give host memory back
        "KIT_RM_TP": str(parallel if own_gpus % parallel == 0 else 1),
        "KIT_RM_LENGTH": str(length or "null"),
        "KIT_RM_TOKENS": str(max(BATCHED, length)),
        # Of ranks, and what the reward model and vLLM have alone, on a machine:
        "KIT_SLOTS": str(ranks + own_gpus + rollout_gpus(settings.values)),
    }


def describe(settings: Settings, spec: RewardModelSpec | None) -> str:
    """Return how and where the model computes, for the plan."""
    if spec is None:
        return ""
    if spec.url:
        return f" at {spec.url}"
    engine = "vLLM or transformers, by its architecture" if spec.engine == "auto" else spec.engine
    own_gpus = settings.integer("RM_GPUS")
    if settings.text("DEVICE") == "cpu" or (engine == "transformers" and settings.text("RM_DEVICE") == "cpu"):
        return f" ({engine}, on the CPU)"
    return f" ({engine}, on {own_gpus} GPUs of its own)" if own_gpus else f" ({engine}, on the policy's GPUs)"

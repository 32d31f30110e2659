"""From the settings of the real run to the env vars of its rehearsal, and what of them was cut or left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trainer.settings.knobs import AUTO, load_knobs, with_trait
from trainer.settings.settings import Settings
from trainer.settings.values import as_env
from trainer.setup import host

RANKS = 2
STEPS, KILLED_AFTER = 3, 1  # steps of the run; the launcher is killed when the checkpoint of that one is whole
PROMPTS, JUDGED_PROMPTS = 8, 4  # a step; fewer where each answer is a call of a judge
TRAIN_ROWS, HELD_OUT_ROWS, JUDGED_HELD_OUT_ROWS = 64, 8, 2
RESPONSE_TOKENS = 16
CONVERSATION_TOKENS = 256  # with an environment or tools; what these say has room too
SAMPLES = 2  # of a prompt, at most
# Of the real machine, or of how long and how often: the rehearsal has its own, or none.
LEFT_OUT = {
    *("MICRO_BATCH_SIZE", "EPOCHS", "STOP_ON", "GPU_MEMORY_UTILIZATION", "RM_GPUS", "MAX_RESTARTS", "RAY_ADDRESS"),
    *("HANG_TIMEOUT", "ROLLOUT_GPUS"),
    *("MASTER_PORT", "INSECURE_RAY", "RESUME", "FORCE", "WHEELHOUSE"),
}
# Overrides that choose kernels or fit a GPU's memory: vLLM's CPU build and gloo have others, or none.
DEVICE_KEYS = (
    *("attn_implementation", "use_remove_padding", "enforce_eager", "free_cache_engine", "enable_sleep_mode"),
    *("gpu_memory_utilization", "use_torch_compile", "cudagraph", "max_num_batched_tokens", "max_num_seqs"),
    *("sequence_parallel_size", "micro_batch_size", "trainer.device", "max_model_len", "ray_kwargs", "kv_cache_dtype"),
    *("tensor_model_parallel_size", "pipeline_model_parallel_size", "data_parallel_size", "total_epochs"),
)
CRITIC_PATH = "critic.model.path"


@dataclass(frozen=True)
class Miniatures:
    """What stands in for the real run's models and data: paths of this machine."""

    policy: Path
    train_file: Path
    val_file: Path
    reward_model: Path | None = None
    critic: Path | None = None


def environment(settings: Settings, miniatures: Miniatures, output: Path, name: str) -> dict[str, str]:
    """Return the knobs of the rehearsal as env vars; those of the real run that are not cut are among them."""
    texts = {env: as_env(value) for env, value in settings.values.items() if _is_kept(settings, env)}
    texts = {env: "none" if text == "null" else text for env, text in texts.items()}
    nodes = min(2, settings.integer("NNODES"))
    judged = is_judged(settings)
    changed = {
        "MODEL_PATH": str(miniatures.policy),
        "DATA": str(miniatures.train_file),
        "VAL_DATA": str(miniatures.val_file),
        "DEVICE": "cpu",
        "DTYPE": precision(settings),
        "N_GPUS": str(RANKS // nodes),
        "NNODES": str(nodes),
        "ROLLOUT_TP_SIZE": "1",
        "BATCH_SIZE": str(JUDGED_PROMPTS if judged else PROMPTS),
        "MINI_BATCH_SIZE": str((JUDGED_PROMPTS if judged else PROMPTS) // 2),
        "ROLLOUT_N": str(min(SAMPLES, settings.integer("ROLLOUT_N"))),
        "MAX_RESPONSE_LENGTH": str(min(RESPONSE_TOKENS, settings.integer("MAX_RESPONSE_LENGTH"))),
        "TOTAL_STEPS": str(STEPS),
        "SAVE_FREQ": "1",
        "TEST_FREQ": "1" if settings.integer("TEST_FREQ") > 0 else "-1",
        "OUTPUT_DIR": str(output),
        "RUN_NAME": name,
    }
    if settings.text("ENV_NAME"):  # its episodes are the data
        del changed["DATA"], changed["VAL_DATA"]
        changed["MAX_TURN_TOKENS"] = str(min(CONVERSATION_TOKENS // 2, settings.integer("MAX_TURN_TOKENS")))
        changed["ENV_EPISODES"] = str(min(PROMPTS * STEPS, settings.integer("ENV_EPISODES")))
    if settings.text("ENV_NAME") or settings.text("TOOLS"):
        changed["MAX_RESPONSE_LENGTH"] = str(min(CONVERSATION_TOKENS, settings.integer("MAX_RESPONSE_LENGTH")))
    if settings.integer_or_none("CRITIC_LAYERS") is not None:
        changed["CRITIC_LAYERS"] = "1"  # of the miniature's two
    if nodes > 1:
        changed["MASTER_ADDR"] = "127.0.0.1"
    if miniatures.reward_model is not None:
        changed["REWARD_MODEL_PATH"] = str(miniatures.reward_model)
    return texts | changed


def _is_kept(settings: Settings, env: str) -> bool:
    """Whether a knob of the real run goes into its rehearsal: given, of the data, or with another default than here."""
    if env in LEFT_OUT or env in with_trait("launch") | with_trait("node"):
        return False
    knob = next(knob for knob in load_knobs() if knob.env == env)
    if env in settings.explicit | settings.of_data:
        return as_env(settings.values[env]) != AUTO
    return settings.values[env] in [knob.parse(default) for default in (knob.tiny, knob.smollm2) if default]


def precision(settings: Settings) -> str:
    """Return the precision of the rehearsal: the run's, where this CPU computes in it."""
    return settings.text("DTYPE") if host.cpu_has_bfloat16() else "float32"


def is_judged(settings: Settings) -> bool:
    """Whether answers go to a judge, each of them a call."""
    return settings.reward.kind == "judge" or "judge_score" in settings.reward.weights


def overrides(settings: Settings, miniatures: Miniatures) -> list[str]:
    """Return the raw overrides of the real run that its rehearsal takes."""
    kept = [word for word in settings.overrides if not _is_of_device(word)]
    if miniatures.critic is None:
        return kept
    return [f"{CRITIC_PATH}={miniatures.critic}" if _key(word) == CRITIC_PATH else word for word in kept]


def critic_of(settings: Settings) -> str:
    """Return the critic's own model, where an override names one; empty where it is the policy's."""
    named = [word.partition("=")[2].strip("'\"") for word in settings.overrides if _key(word) == CRITIC_PATH]
    return named[-1] if named else ""


def _key(word: str) -> str:
    return word.lstrip("+~").partition("=")[0]


def _is_of_device(word: str) -> bool:
    return any(part in _key(word) for part in DEVICE_KEYS)


def cuts(settings: Settings) -> Iterator[str]:
    """Yield what of the real run was cut, as ``name: real -> here``, and what was left out."""
    sizes = environment(settings, Miniatures(Path(), Path(), Path()), Path(), "")
    nodes, ranks = settings.integer("NNODES"), settings.integer("N_GPUS")
    yield f"ranks {nodes} x {ranks} {settings.text('DEVICE')} -> {sizes['NNODES']} x {sizes['N_GPUS']} cpu"
    for env, word in (
        ("BATCH_SIZE", "prompts a step"),
        ("MINI_BATCH_SIZE", "mini batch"),
        ("ROLLOUT_N", "answers a prompt"),
        ("MAX_RESPONSE_LENGTH", "tokens an answer"),
        ("ROLLOUT_TP_SIZE", "tensor parallel"),
        ("DTYPE", "numbers"),
        ("ENV_EPISODES", "episodes"),
        ("CRITIC_LAYERS", "layers of the critic"),
    ):
        real = as_env(settings.values[env])
        if real != sizes.get(env, real):
            yield f"{word} {real} -> {sizes[env]}"
    steps = settings.integer_or_none("TOTAL_STEPS")
    yield f"steps {'of all epochs' if steps is None else steps} -> {STEPS}, a checkpoint at each"
    gone = [f"--{knob.flag}" for knob in load_knobs() if knob.env in LEFT_OUT & settings.explicit]
    gone += [word for word in settings.overrides if _is_of_device(word)]
    if gone:
        yield f"without {' '.join(gone)}"

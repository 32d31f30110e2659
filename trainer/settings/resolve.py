"""What is left to the kit, out of what was given and what the machine is: defaults, ranks, precision, sizes of a batch.

Each step is a function of what it needs, and returns what is new.
"""

from collections.abc import Mapping, Sequence

from trainer.algorithm.kl.full_kl import FULL
from trainer.settings import batch_size
from trainer.settings.knobs import AUTO, Knob, Value
from trainer.settings.values import Values
from trainer.setup import host

MODEL, TINY, SMOLLM2 = "MODEL_PATH", "builtin:tiny", "builtin:smollm2"
ENVIRONMENT, EPISODES = "ENV_NAME", "env:"  # and the data of a run with one
TOOLS, CALCULATOR, SUMS = "TOOLS", "calculator", "builtin:sums"


def resolve(
    knobs: Sequence[Knob], explicit: Mapping[str, Value], gpus: int
) -> tuple[Values, tuple[str, ...], dict[str, int]]:
    """Return the values of all knobs on a machine with ``gpus`` GPUs, and what of a batch was fitted.

    The last value has the defaults of those sizes that nobody gave: they may have to be fitted again, to the data.
    """
    free = batch_size.free_sizes(explicit)
    fixed = {env: value for env, value in explicit.items() if env not in free}
    device = _device(fixed, gpus)
    values = Values({**_defaults(knobs, fixed, device), **fixed, "DEVICE": device})
    values = values.having(N_GPUS=_ranks(values, gpus), DTYPE=_precision(values))
    if "OLD_LOG_PROBS" not in fixed and _needs_actors_pass(values):
        values = values.having(OLD_LOG_PROBS="actor")
    sizes, fitted = batch_size.fit(values, free)
    return values.having(**sizes), fitted, {env: values.integer(env) for env in free}


def own_gpus(values: Values) -> int:
    """Return how many GPUs the reward model has for itself."""
    return values.integer("RM_GPUS") if values.text("REWARD_MODEL_PATH") and not values.text("RM_URL") else 0


def rollout_gpus(values: Values) -> int:
    """Return how many GPUs of each machine vLLM has for itself."""
    return values.integer("ROLLOUT_GPUS") if values.text("ASYNC_SAMPLING") == "separate" else 0


def _device(explicit: Mapping[str, Value], gpus: int) -> Value:
    asked = explicit.get("DEVICE", AUTO)
    return ("cuda" if gpus else "cpu") if asked == AUTO else asked


def _defaults(knobs: Sequence[Knob], explicit: Mapping[str, Value], device: Value) -> dict[str, Value]:
    """Return what was not given, by the columns of the table: of the device, and of the model."""
    texts = {knob.env: knob.cpu if device == "cpu" and knob.cpu else knob.default for knob in knobs}
    model = explicit.get(MODEL, texts[MODEL])
    if is_tiny := model == TINY:
        texts |= {knob.env: knob.tiny for knob in knobs if knob.tiny}
    if model == SMOLLM2:
        texts |= {knob.env: knob.smollm2 for knob in knobs if knob.smollm2}
    if explicit.get(ENVIRONMENT) or explicit.get(TOOLS):
        texts |= {knob.env: knob.episodes for knob in knobs if knob.episodes}
    if explicit.get(ENVIRONMENT) and is_tiny:
        texts |= {knob.env: knob.player for knob in knobs if knob.player}
    if explicit.get(TOOLS) == CALCULATOR:
        texts["DATA"] = SUMS
    if name := explicit.get(ENVIRONMENT):
        texts["DATA"] = f"{EPISODES}{name}"
    if explicit.get("ASYNC_SAMPLING", "off") != "off" and explicit.get("OLD_LOG_PROBS") != "rollout":
        texts["ROLLOUT_CORRECTION"] = "token"  # samples are older than the policy
    if "EPOCHS" in explicit:
        texts["TOTAL_STEPS"] = AUTO  # who asks for epochs gets them whole
    return {
        knob.env: knob.parse(texts[knob.env]) if texts[knob.env] else "" for knob in knobs if knob.env not in explicit
    }


def _needs_actors_pass(values: Values) -> bool:
    """Whether vLLM's log-probabilities cannot stand for the actor's, as they do by default for builtin:smollm2."""
    full_kl = [
        values.number("KL_COEF") and values.text("KL_PENALTY") == FULL,
        values.switch("USE_KL_LOSS") and values.text("KL_LOSS_TYPE") == FULL,
    ]
    differ = values.text("DTYPE") != "float32" or values.text("ASYNC_SAMPLING") != "off"
    return differ or values.text("ROLLOUT_CORRECTION") != "none" or any(full_kl)


def _ranks(values: Values, gpus: int) -> int:
    asked = values.integer_or_none("N_GPUS")
    return max(gpus - own_gpus(values) - rollout_gpus(values), 1) if asked is None else asked


def _precision(values: Values) -> str:
    if values.text("DTYPE") != AUTO:
        return values.text("DTYPE")
    return "bfloat16" if values.text("DEVICE") == "cuda" or host.cpu_has_bfloat16() else "float32"

"""Knobs that do not go together, found before anything is installed or started."""

import ipaddress
import json
import re
from typing import Any
from urllib.parse import urlsplit

from reward.judge.providers import PROVIDERS
from reward.support.wording import json_kind, quoted, reason, shown
from trainer.algorithm import conflicts as algorithm
from trainer.settings.batch_shape import Shape
from trainer.settings.batch_shape_rules import shape_faults
from trainer.settings.knobs import load_knobs, with_trait
from trainer.settings.resolve import own_gpus, rollout_gpus
from trainer.settings.values import Values

ADDRESS = re.compile(r"(?!\.)[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.?")  # a machine's name
MODE, KIT_MODE = "trainer.v1.trainer_mode", "ppo_kit"
READS = "reads the words of"  # verl hands it whole responses
DIVIDES = ("sequence_parallel_size", "dynamic_bsz", "micro_batch_size", "ppo_mini_batch_size")


def contradictions(values: Values, explicit: frozenset[str], gpus: int, overrides: tuple[str, ...] = ()) -> list[str]:
    """Return one line for each contradiction among ``values``, on a machine with ``gpus`` GPUs.

    Where raw ``overrides`` change how verl divides a batch, its sizes are looked at when all is composed.
    """
    shape = [] if any(word in key for key in overrides for word in DIVIDES) else shape_faults(Shape.of_knobs(values))
    return [
        *_devices(values, explicit, gpus),
        *_nodes(values),
        *_reward(values, explicit),
        *_environment(values, explicit),
        *_tools(values),
        *_sampling_ahead(values),
        *_audit(values),
        *_reward_model(values, explicit),
        *shape,
        *algorithm.faults(values),
        *_trainer(explicit, overrides),
        *_interpolations(values),
        *_best_checkpoint(values),
        *_exclusive_choices(values),
    ]


def _devices(values: Values, explicit: frozenset[str], gpus: int) -> list[str]:
    count, reward_gpus, running = values.integer("N_GPUS"), own_gpus(values), values.text("RAY_ADDRESS")
    if running and "N_GPUS" not in explicit:
        return [
            "RAY_ADDRESS: the GPUs of a running cluster are not counted; give --n_gpus, the GPUs to use on each node"
        ]
    if values.text("DEVICE") != "cuda" or values.switch("DRY_RUN") or running:  # a dry run is for any machine
        return []
    if not gpus:
        return ["--device cuda: nvidia-smi lists no GPU on this machine; use --device cpu"]
    if count > gpus:
        return [f"--n_gpus {count}: this machine has {gpus}; ask for {gpus} or fewer"]
    own = {"--rm_gpus": reward_gpus, "--rollout_gpus": rollout_gpus(values)}
    if count + sum(own.values()) > gpus:
        asked = [f"--n_gpus {count}", *(f"{flag} {number}" for flag, number in own.items() if number)]
        return [f"{' and '.join(asked)}: this machine has {gpus}; lower one of them"]
    return []


def _nodes(values: Values) -> list[str]:
    nodes, rank, running = values.integer("NNODES"), values.integer("NODE_RANK"), values.text("RAY_ADDRESS")
    if running and not re.fullmatch(r"auto|[^\s:/]{1,253}:[0-9]{1,5}", running):
        hint = "give auto, or host:port of the cluster's head (6379, not the client's 10001)"
        return [f"RAY_ADDRESS={shown(running)}: {hint}"]
    if running and rank:
        return [
            f"NODE_RANK={rank}: with RAY_ADDRESS one machine starts the run, and Ray has the worker nodes; leave it out"
        ]
    if rank >= nodes:
        return [f"NODE_RANK={rank}: with NNODES={nodes} the ranks are 0 to {nodes - 1}"]
    addresses = {env: values.text(env) for env in ("MASTER_ADDR", "NODE_ADDR")}
    wrong = [env for env, address in addresses.items() if address and not _is_address(address)]
    if wrong:
        more = {env: ", without http:// and port (MASTER_PORT)" * (":" in addresses[env]) for env in wrong}
        return [f"{env}={quoted(addresses[env])}: give an address, or a machine's name{more[env]}" for env in wrong]
    if nodes > 1 and not values.text("MASTER_ADDR") and not running:
        return [f"NNODES={nodes}: give MASTER_ADDR too, the address of the head node as the worker nodes reach it"]
    return []


def _is_address(text: str) -> bool:
    """Whether a text may be a machine's name, or is an address of IPv4 or IPv6."""
    if ":" not in text and not re.fullmatch(r"[\d.]+", text):
        return ADDRESS.fullmatch(text) is not None
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _reward(values: Values, explicit: frozenset[str]) -> list[str]:
    faults = []
    judge, provider = values.switch("USE_API_REWARD") or values.text("AUDIT_FN") == "judge", values.text("RM_API_TYPE")
    details = [f"--{env.lower()}" for env in sorted(explicit - with_trait("reward_model")) if env.startswith("RM_")]
    if details and not judge:
        needed = "--use_api_reward or --audit_fn judge"
        faults.append(_without(details, needed))
    if judge and provider != "dashscope" and "RM_MODEL" not in explicit:
        example = PROVIDERS[provider].models[0] if provider in PROVIDERS else "NAME"
        faults.append(f"--rm_api_type {provider}: give --rm_model too, for example --rm_model {example}")
    template = values.text("RM_SCORING_PROMPT")
    if template and "{response}" not in template:
        faults.append("--rm_scoring_prompt: it must hold {response}, where the answer to be scored goes")
    return faults


def environment_arguments(text: str) -> dict[str, Any]:
    """Return what ``--env_args`` says; nothing where it is empty.

    Raises:
        ValueError: it is no JSON object; the message says what it is.
    """
    try:
        read = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None
    if not isinstance(read, dict):
        raise ValueError(f"it is {json_kind(read)}, not an object")
    return read


def _environment(values: Values, explicit: frozenset[str]) -> list[str]:
    if not values.text("ENV_NAME"):
        return []
    faults = []
    data = [f"--{env.lower()}" for env in ("DATA", "VAL_DATA") if env in explicit]
    if data:
        faults.append(f"--env: its episodes are the data: leave out {' and '.join(data)}")
    turn, whole = values.integer("MAX_TURN_TOKENS"), values.integer("MAX_RESPONSE_LENGTH")
    if turn > whole:
        faults.append(f"--max_turn_tokens {turn}: an episode has --max_response_length {whole} in all; change either")
    try:
        environment_arguments(values.text("ENV_ARGS"))
    except ValueError as error:
        hint = "write a JSON object in quotes, such as '{\"is_slippery\": true}'"
        faults.append(f"--env_args {shown(values.text('ENV_ARGS'))}: {error}; {hint}")
    return [*faults, *_shared_reward_model(values, "--env", f"{READS} the environment too")]


def _tools(values: Values) -> list[str]:
    if not values.text("TOOLS"):
        return []
    faults = []
    if values.text("ENV_NAME"):
        faults.append("--tools: not with --env; leave out one of them")
    return [*faults, *_shared_reward_model(values, "--tools", f"{READS} the tools too")]


def _sampling_ahead(values: Values) -> list[str]:
    if (sampling := values.text("ASYNC_SAMPLING")) == "off":
        return []
    return _shared_reward_model(values, f"--async {sampling}", "cannot score while the policy trains on them")


def _shared_reward_model(values: Values, flag: str, why: str) -> list[str]:
    shares = values.text("REWARD_MODEL_PATH") and not values.text("RM_URL") and not own_gpus(values)
    if not shares or values.text("DEVICE") != "cuda" or values.text("RM_DEVICE") == "cpu":
        return []
    what = f"a reward model that shares the policy's GPUs {why}"
    return [f"{flag}: {what}; give it GPUs of its own (--rm_gpus 1), or a server (--rm_url)"]


def _audit(values: Values) -> list[str]:
    best = values.text("KEEP_BEST")
    if not values.text("AUDIT_FN"):
        fault = "--keep_best audit: there is no audit; give --audit_fn, or take --keep_best"
        return [fault] * (best == "audit")
    for env, what in (("ENV_NAME", "--env"), ("TOOLS", "--tools")):
        if values.text(env):
            return [f"--audit_fn: answers of one turn are audited, and {what} has several; leave out one of them"]
    return []


def _without(flags: list[str], needed: str) -> str:
    """Say that ``flags`` need another."""
    return f"{', '.join(flags)}: no effect without {needed}; add it, or leave {'them' if len(flags) > 1 else 'it'} out"


def _reward_model(values: Values, explicit: frozenset[str]) -> list[str]:
    details = [f"--{env.lower()}" for env in sorted(explicit & with_trait("reward_model"))]
    if not values.text("REWARD_MODEL_PATH"):
        return [_without(details, "--reward_model")] if details else []
    faults = []
    reward_gpus, url, engine = values.integer("RM_GPUS"), values.text("RM_URL"), values.text("RM_ENGINE")
    if url and with_trait("own_engine") & explicit:
        flags = ", ".join(f"--{knob.flag}" for knob in load_knobs() if knob.env in with_trait("own_engine"))
        faults.append(f"--rm_url: the server has its own GPUs and batches; leave out {flags}")
    if "@" in url:
        faults.append("--rm_url: a secret stays in the environment; leave user and password out, and export RM_API_KEY")
    if wrong := _of_url(url):
        faults.append(f"--rm_url {url}: {wrong}; write http://host:port, as vLLM says when it starts")
    if url and engine == "transformers":
        faults.append("--rm_url: the server computes; leave out --rm_engine transformers")
    if values.text("RM_DEVICE") == "cpu" and (engine == "vllm" or (values.text("DEVICE") == "cuda" and reward_gpus)):
        faults.append("--rm_device cpu: of the transformers engine, without --rm_gpus; leave out one of them")
    if values.integer("NNODES") > 1 and values.text("DEVICE") == "cuda" and reward_gpus:
        faults.append("--rm_gpus: with several machines the reward model shares the policy's GPUs, or has --rm_url")
    return faults


def _of_url(url: str) -> str:
    """Return why nothing can be asked at ``url``; nothing where something can, or where there is none."""
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return (
            str(error).split(":")[0].lower()
            if "port" not in str(error).lower()
            else "its port is not a number up to 65535"
        )
    if parts.scheme not in ("http", "https") or not url.lower().startswith(f"{parts.scheme}://"):
        return f"it begins with {parts.scheme}:" if "://" in url else "it does not begin with http:// or https://"
    if not host or any(char.isspace() for char in url) or port == 0:
        return (
            "it contains a space"
            if any(char.isspace() for char in url)
            else "its port is 0"
            if host
            else "it names no host"
        )
    return "a server's address has no query (?...)" if parts.query or parts.fragment else ""


def _trainer(explicit: frozenset[str], overrides: tuple[str, ...]) -> list[str]:
    """Knobs that only the kit's trainer reads, given with another one."""
    modes = [value for key, _, value in (word.lstrip("+").partition("=") for word in overrides) if key == MODE]
    if not modes or modes[-1].strip("'\"") == KIT_MODE:
        return []
    kits = [knob for knob in load_knobs() if knob.key.startswith(f"trainer.v1.{KIT_MODE}.")]
    kit_flags = [f"--{knob.flag}" for knob in kits if knob.env in explicit]
    text = (
        f"{', '.join(kit_flags)}: no effect with {MODE}={modes[-1]}, which is not the kit's trainer; leave out either"
    )
    if "--keep" in kit_flags:
        text += " (verl's own: trainer.max_actor_ckpt_to_keep and trainer.max_critic_ckpt_to_keep)"
    return [text] if kit_flags else []


def _interpolations(values: Values) -> list[str]:
    """Texts that Hydra would resolve in place of taking them as they are."""
    return [
        f"{knob.env}={quoted(text)}: a name or a path cannot hold ${{, which verl would take for an interpolation"
        for knob in load_knobs()
        if knob.env in with_trait("no_interpolation") and "${" in (text := values.text(knob.env))
    ]


def _best_checkpoint(values: Values) -> list[str]:
    """A checkpoint is ranked by the validation of its own step."""
    save, test = values.integer("SAVE_FREQ"), values.integer("TEST_FREQ")
    if values.text("KEEP_BEST") == "false":
        return []
    if test == -1:
        return ["--keep_best: with --test_freq -1 no checkpoint has a score; leave out one of them"]
    if save > 0 and save % test:
        return [
            f"--keep_best: a checkpoint has a score where its step is validated; make --save_freq {save} a multiple of "
            f"--test_freq {test}"
        ]
    return []


def _exclusive_choices(values: Values) -> list[str]:
    offload, stop_on = values.choices("OFFLOAD"), values.choices("STOP_ON")
    faults = []
    if len(offload) > 1 and {"none", "all"} & set(offload):
        faults.append(f"--offload {','.join(offload)}: none and all stand alone")
    if len(stop_on) > 1 and "none" in stop_on:
        faults.append(f"--stop_on {','.join(stop_on)}: none stands alone")
    return faults

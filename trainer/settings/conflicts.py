"""Knobs that do not go together, found before anything is installed or started."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from reward.judge.providers import PROVIDERS
from reward.support.wording import quoted, shown
from trainer.algorithm import conflicts as algorithm
from trainer.settings.batch_shape import Shape
from trainer.settings.batch_shape_rules import shape_faults
from trainer.settings.knobs import Value, load_knobs, with_trait

ADDRESS = re.compile(r"(?!\.)[\w:%-]{1,63}(?:\.[\w:%-]{1,63}){0,8}\.?")  # a name, or of either IP
MODE, OWN = "trainer.v1.trainer_mode", "ppo_kit"
DIVIDES = ("sequence_parallel_size", "dynamic_bsz", "micro_batch_size", "ppo_mini_batch_size")


def contradictions(
    values: Mapping[str, Value], given: frozenset[str], gpus: int, overrides: tuple[str, ...] = ()
) -> list[str]:
    """Return one line for each contradiction among ``values``, on a machine with ``gpus`` GPUs.

    Where raw ``overrides`` change how verl divides a batch, its sizes are looked at when all is composed.
    """
    shape = [] if any(word in key for key in overrides for word in DIVIDES) else shape_faults(Shape.of_knobs(values))
    return [
        *_devices(values, given, gpus),
        *_nodes(values),
        *_reward(values, given),
        *_reward_model(values, given),
        *shape,
        *algorithm.faults(values),
        *_trainer(given, overrides),
        *_rest(values),
    ]


def _devices(values: Mapping[str, Value], given: frozenset[str], gpus: int) -> list[str]:
    count = values["N_GPUS"]
    if values["RAY_ADDRESS"] and "N_GPUS" not in given:
        return ["RAY_ADDRESS: the cluster's machines are not asked; give --n_gpus, the GPUs to use on each"]
    if values["DEVICE"] != "cuda" or values["DRY_RUN"] or values["RAY_ADDRESS"]:  # a dry run is for any machine
        return []
    if not gpus:
        return ["--device cuda: nvidia-smi lists no GPU on this machine; use --device cpu"]
    if isinstance(count, int) and count > gpus:
        return [f"--n_gpus {count}: this machine has {gpus}; ask for {gpus} or fewer"]
    own = values["RM_GPUS"] if values["REWARD_MODEL_PATH"] and not values["RM_URL"] else 0
    if isinstance(count, int) and isinstance(own, int) and count + own > gpus:
        return [f"--n_gpus {count} and --rm_gpus {own}: this machine has {gpus}; lower one of them"]
    return []


def _nodes(values: Mapping[str, Value]) -> list[str]:
    nodes, rank, running = values["NNODES"], values["NODE_RANK"], str(values["RAY_ADDRESS"])
    if running and not re.fullmatch(r"auto|[^\s:/]{1,253}:[0-9]{1,5}", running):
        hint = "give auto, or host:port of the cluster's head (6379, not the client's 10001)"
        return [f"RAY_ADDRESS={shown(running)}: {hint}"]
    if running and rank:
        return [f"NODE_RANK={rank}: with RAY_ADDRESS one machine starts the run, and Ray has the others; leave it out"]
    if not (isinstance(nodes, int) and isinstance(rank, int)):
        return []
    if rank >= nodes:
        return [f"NODE_RANK={rank}: with NNODES={nodes} the ranks are 0 to {nodes - 1}"]
    addresses = {env: str(values[env]) for env in ("MASTER_ADDR", "NODE_ADDR")}
    wrong = [env for env, address in addresses.items() if address and not ADDRESS.fullmatch(address)]
    if wrong:
        return [f"{env}={quoted(addresses[env])}: give an address, or a machine's name" for env in wrong]
    if nodes > 1 and not values["MASTER_ADDR"] and not running:
        return [f"NNODES={nodes}: give MASTER_ADDR too, the address of the head node as the others reach it"]
    return []


def _reward(values: Mapping[str, Value], given: frozenset[str]) -> list[str]:
    faults = []
    judge = values["USE_API_REWARD"] is True
    provider = str(values["RM_API_TYPE"])
    details = [f"--{env.lower()}" for env in sorted(given - with_trait("reward_model")) if env.startswith("RM_")]
    if details and not judge:
        faults.append(f"{', '.join(details)}: of no effect without --use_api_reward; add it, or leave them out")
    if judge and provider != "dashscope" and "RM_MODEL" not in given:
        example = PROVIDERS[provider].models[0] if provider in PROVIDERS else "NAME"
        faults.append(f"--rm_api_type {provider}: give --rm_model too, for example --rm_model {example}")
    template = str(values["RM_SCORING_PROMPT"])
    if template and "{response}" not in template:
        faults.append("--rm_scoring_prompt: it must hold {response}, where the answer to be scored goes")
    return faults


def _reward_model(values: Mapping[str, Value], given: frozenset[str]) -> list[str]:
    details = ", ".join(f"--{env.lower()}" for env in sorted(given & with_trait("reward_model")))
    if not values["REWARD_MODEL_PATH"]:
        return [f"{details}: of no effect without --reward_model; add it, or leave them out"] * bool(details)
    faults = []
    own, url, engine = values["RM_GPUS"], values["RM_URL"], values["RM_ENGINE"]
    if url and {"RM_GPUS", "RM_DEVICE", "RM_BATCH_SIZE"} & given:
        faults.append(
            "--rm_url: the server has its own GPUs and batches; leave out --rm_gpus, --rm_device, --rm_batch_size"
        )
    if "@" in str(url):
        faults.append("--rm_url: a secret stays in the environment; leave user and password out, and export RM_API_KEY")
    if wrong := _of_url(str(url)):
        faults.append(f"--rm_url {url}: {wrong}; write http://host:port, as vLLM says when it starts")
    if url and engine == "transformers":
        faults.append("--rm_url: the server computes; leave out --rm_engine transformers")
    if values["RM_DEVICE"] == "cpu" and (engine == "vllm" or (values["DEVICE"] == "cuda" and own)):
        faults.append("--rm_device cpu: of the transformers engine, without --rm_gpus; leave out one of them")
    nodes = values["NNODES"]
    if isinstance(nodes, int) and nodes > 1 and values["DEVICE"] == "cuda" and own:
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
        return str(error).split(":")[0].lower() if "port" not in str(error).lower() else "its port is none"
    if parts.scheme not in ("http", "https") or not url.lower().startswith(f"{parts.scheme}://"):
        return f"it begins with {parts.scheme}:" if "://" in url else "it does not begin with http:// or https://"
    if not host or any(char.isspace() for char in url) or port == 0:
        return (
            "it has a blank" if any(char.isspace() for char in url) else "its port is 0" if host else "it names no host"
        )
    return "a query is none of a server's address" if parts.query or parts.fragment else ""


def _trainer(given: frozenset[str], overrides: tuple[str, ...]) -> list[str]:
    """Knobs that only the kit's trainer reads, given with another one."""
    modes = [value for key, _, value in (word.lstrip("+").partition("=") for word in overrides) if key == MODE]
    if not modes or modes[-1].strip("'\"") == OWN:
        return []
    kits = [knob for knob in load_knobs() if knob.key.startswith(f"trainer.v1.{OWN}.")]
    own = [f"--{knob.flag}" for knob in kits if knob.env in given]
    text = f"{', '.join(own)}: of no effect with {MODE}={modes[-1]}, which is not the kit's trainer; leave out either"
    if "--keep" in own:
        text += " (verl's own: trainer.max_actor_ckpt_to_keep and trainer.max_critic_ckpt_to_keep)"
    return [text] if own else []


def _rest(values: Mapping[str, Value]) -> list[str]:
    faults = [
        f"{env}={quoted(values[env])}: a name or a path cannot hold ${{, which verl would take for an interpolation"
        for env in (
            "MODEL_PATH",
            "DATA",
            "VAL_DATA",
            "REWARD_MODEL_PATH",
            "RM_URL",
            "REWARD_FN",
            "OUTPUT_DIR",
            "RUN_NAME",
            "RESUME",
        )
        if "${" in str(values[env])
    ]
    save, test = values["SAVE_FREQ"], values["TEST_FREQ"]
    if values["KEEP_BEST"] is True and test == -1:
        faults.append("--keep_best: with --test_freq -1 no checkpoint has a score; leave out one of them")
    elif values["KEEP_BEST"] is True and isinstance(save, int) and isinstance(test, int) and save > 0 and save % test:
        faults.append(
            f"--keep_best: a checkpoint has a score where its step is validated; make --save_freq {save} a multiple of "
            f"--test_freq {test}"
        )
    offload = values["OFFLOAD"]
    if isinstance(offload, list) and len(offload) > 1 and {"none", "all"} & set(offload):
        faults.append(f"--offload {','.join(offload)}: none and all stand alone")
    stop_on = values["STOP_ON"]
    if isinstance(stop_on, list) and len(stop_on) > 1 and "none" in stop_on:
        faults.append(f"--stop_on {','.join(stop_on)}: none stands alone")
    return faults

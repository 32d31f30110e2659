"""What settings may hold of which verl declares no type: it reads them by name, or hands them on to Ray, PEFT, vLLM."""

import ast
import functools
import importlib.util
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from reward.support.nearest import did_you_mean
from trainer.settings.verl_schema.types import Kind, field_kind, parse

WHOLE, TEXT = Kind(frozenset({"int"})), Kind(frozenset({"str"}))
SWITCH = Kind(frozenset({"bool"}))
TEXT_OR_NONE = Kind(TEXT.names, optional=True)
TEXTS = Kind(frozenset({"str", "list"}), optional=True, items=TEXT)
NUMBERS = Kind(frozenset({"list"}), optional=True, items=WHOLE)
GROUP = Kind(section="*", optional=True)
PRECISION = r"(?:fsdp_config|fsdp)\.mixed_precision"
RAY_INIT, NODE = "ray_kwargs.ray_init", "ray_kwargs.node"
# By the end of a key, the first that fits: what the code of verl does with a setting.
KINDS = (
    (PRECISION, GROUP),
    (rf"{PRECISION}\.\w+_dtype", TEXT),
    (r"global_profiler\.steps|\.cudagraph_capture_sizes", NUMBERS),
    (r"rollout_correction\.rollout_rs|(custom_cls|custom_sampler)\.name|\.capture-range-end", TEXT_OR_NONE),
    (r"model\.(lora\.)?(target|exclude)_modules|ppo_kit\.nodes_without_shared_output", TEXTS),
    (r"ref\.log_prob_use_dynamic_bsz", SWITCH),
    (r"\.min_num_params|\.log_val_generations|\.critic_warmup|\.gen_batch_size", WHOLE),
    (r"model\.lora\.rank|transfer_queue\.metrics\.port|custom\.max_turn_tokens", WHOLE),
    (r"\.override_config\.attn_implementation", TEXT),
    (r"custom_reward_function\.reward_kwargs\.(composite|judge|kind|model|reward_fn)", TEXT),
    (r"custom_reward_function\.reward_kwargs\.keys", TEXTS),
    (r"\.override_config\.initializer_range", Kind(frozenset({"float"}), optional=True)),
    (r"trainer\.logger", Kind(frozenset({"str", "list"}), items=TEXT)),
)
NULLABLE = ("data.gen_batch_size",)
# The keys of a group that is read by name: any other is not read.
NAMES = ((PRECISION, ("param_dtype", "reduce_dtype", "buffer_dtype")),)
HOOK = "trainer.workers.queue_security.install"
# Names in groups that take any other as well: one that is nearly such a name is a slip.
SLIPS = (
    (r"rollout\.custom", ("environment", "max_turn_tokens", "tools")),
    (r"custom_reward_function\.reward_kwargs", ("composite", "judge", "keys", "kind", "model", "reward_fn")),
    (r"ray_init\.runtime_env", ("env_vars", "py_executable", "py_modules", "worker_process_setup_hook", "working_dir")),
)
# What the kit puts there itself, and what to take.
KITS_OWN = {
    "actor_rollout_ref.rollout.custom.environment": "take --env",
    "actor_rollout_ref.rollout.custom.tools": "take --tools",
    f"{RAY_INIT}.runtime_env.worker_process_setup_hook": "it keeps strangers from the queue of samples; leave it",
}
# Switches that this trainer has no other side of.
ONLY = {
    "actor_rollout_ref.hybrid_engine": "true; for a vLLM with GPUs of its own take --async separate",
    "trainer.use_v1": "true; this trainer is one of V1",
}
LATE = ("storage", "allow_multiple")  # keywords that ray.init knows only to refuse them


def kind(key: str) -> Kind | None:
    """Return what a setting may hold; None where verl's own files tell."""
    if key.startswith((f"{RAY_INIT}.", f"{NODE}.")):
        return ray_arguments().get(key.rpartition(".")[2]) if key.count(".") == RAY_INIT.count(".") + 1 else None
    by_ending = next((kind for ending, kind in KINDS if re.search(f"(?:{ending})$", key)), None)
    return Kind(by_ending.names, optional=True) if by_ending and key in NULLABLE else by_ending


def fault(key: str, value: object) -> str:
    """Return why nobody reads the setting, or nobody but the kit may write it; empty where neither is so."""
    if key in KITS_OWN and value != HOOK and not (isinstance(value, str) and "${" in value):
        return f"{key}: the kit sets this; {KITS_OWN[key]}"
    if key in ONLY and value in (False, 0):
        return f"{key}=false: allowed: {ONLY[key]}"
    group, _, name = key.rpartition(".")
    names = _of_group(NAMES, group)
    if group == RAY_INIT or (group == NODE and ray_arguments()):
        names = tuple(ray_arguments()) + (("runtime_env",) if group == RAY_INIT else ())
    known = _of_group(SLIPS, group)
    if name not in known and (slip := did_you_mean(name, known)):
        return f"{key}: nobody reads it; {slip}"
    if not names or name in names:
        return ""
    hint = did_you_mean(name, names)
    reader = "ray.init" if group in (RAY_INIT, NODE) else "verl"
    return f"{key}: {reader} has no such setting" + f"; {hint}" * bool(hint)


def _of_group(table: Sequence[tuple[str, tuple[str, ...]]], group: str) -> tuple[str, ...]:
    return next((names for ending, names in table if re.search(f"(?:{ending})$", group)), ())


@functools.cache
def ray_arguments() -> Mapping[str, Kind]:
    """Return the arguments of ``ray.init`` by name, read from its source; none where Ray is not installed."""
    spec = importlib.util.find_spec("ray")
    source = Path(spec.origin).parent / "_private/worker.py" if spec is not None and spec.origin else Path("none")
    function = next((node for node in parse(source).body if getattr(node, "name", "") == "init"), None)
    if not isinstance(function, ast.FunctionDef):
        return {}
    given = [*function.args.args, *function.args.kwonlyargs]
    kinds = {argument.arg: argument.annotation for argument in given}
    for node in ast.walk(function):
        value = node.value if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.AnnAssign) and isinstance(value, ast.Call) and ast.unparse(value.func) == "kwargs.pop":
            kinds[ast.literal_eval(value.args[0])] = node.annotation
    return {name: _nullable(annotation) for name, annotation in kinds.items() if name not in LATE}


def _nullable(annotation: ast.expr | None) -> Kind:
    if annotation is None:
        return Kind(optional=True)
    annotated = field_kind(ast.AnnAssign(ast.Name("x"), annotation, None, 1), {})
    return Kind(annotated.names - {"none"}, optional=True)

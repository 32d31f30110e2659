"""What vLLM's own arguments may hold, which verl hands on from ``engine_kwargs.vllm`` unread: by vLLM's source."""

import ast
import functools
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

from trainer.settings.verl_schema import types

GROUP = re.compile(r"[\w.]+\.rollout\.engine_kwargs\.vllm\.(?P<name>\w+)")
SOURCES = ("engine/arg_utils.py", "entrypoints/openai/cli_args.py")
CLASS = re.compile(r"(Async)?EngineArgs|(Base)?FrontendArgs")
NUMBER = re.compile(r"\d+(\.\d+)?[kKmMgGtT]?|auto")  # of an integer, as vLLM's command line has it
WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number"}


def faults(key: str, value: object) -> list[str]:
    """Return what is wrong with ``value``, where ``key`` is one of vLLM's arguments."""
    if isinstance(value, dict) and GROUP.fullmatch(f"{key}.x"):
        return [fault for name, each in value.items() for fault in faults(f"{key}.{name}", each)]
    match = GROUP.fullmatch(key)
    if match is None:
        return []
    kinds = arguments().get(match["name"], types.ANY).names  # vLLM has others from release to release
    if value is None or not kinds or not kinds <= WORDS.keys() or any(_fits(name, value) for name in kinds):
        return []
    return [f"{key}={str(value)[:80]}: allowed: {' or '.join(WORDS[name] for name in WORDS if name in kinds)}"]


def _fits(kind: str, value: object) -> bool:
    if isinstance(value, str):
        return "${" in value or (kind == "int" and NUMBER.fullmatch(value) is not None)
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    return isinstance(value, int) or (kind == "float" and isinstance(value, float))


@functools.cache
def arguments() -> Mapping[str, types.Kind]:
    """Return vLLM's arguments by name, without importing it; none where it is not installed."""
    spec = importlib.util.find_spec("vllm")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    nodes = [node for name in SOURCES if folder for node in types.parse(folder / name).body]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef) and CLASS.fullmatch(node.name)]
    return {each.target.id: types.field_kind(each, {}) for node in classes for each in types.annotated(node)}

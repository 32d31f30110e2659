"""The file by which verl finds agent loops of the kit's: ``config/device/cpu_agent_loop.yaml``. Imports none."""

import ast
from collections.abc import Iterator
from typing import Any

import yaml

from trainer import ROOT

ENDING = "_agent_loop.yaml"
WANTED = ("name", "_target_")
EMPTY = "it is to be a list of agent loops, each with name and _target_, and it has none"


def faults(root: yaml.Node | None, loader: Any) -> Iterator[str]:
    """Yield what is wrong with such a file, each with its line.

    Args:
        root: what it holds.
        loader: of YAML, that has read it.
    """
    if not isinstance(root, yaml.SequenceNode) or not root.value:
        yield EMPTY
        return
    for node in root.value:
        line, entry = node.start_mark.line + 1, loader.construct_object(node, deep=True)
        texts = (
            [str(entry[key]) for key in WANTED if isinstance(entry.get(key), str)] if isinstance(entry, dict) else []
        )
        if len(texts) < len(WANTED):
            yield f"line {line}: an agent loop has name and _target_, both texts"
        elif extra := sorted(map(str, entry.keys() - {*WANTED})):
            yield f"line {line}: {extra[0][:80]}: an agent loop has name and _target_ alone"
        elif not _is_there(texts[1]):
            yield f"line {line}: _target_={texts[1][:80]}: the kit has no such class"


def _is_there(target: str) -> bool:
    """Whether the kit has a class; of another package's, verl says."""
    module, _, name = target.rpartition(".")
    package, *rest = module.split(".")
    if package != "trainer":
        return bool(package)
    file = ROOT.joinpath(package, *rest).with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in tree.body)

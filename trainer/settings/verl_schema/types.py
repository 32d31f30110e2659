"""What type each of verl's settings has, read from verl's own files: its composed YAML, and its dataclasses' source.

The dataclasses are parsed, not imported: importing them brings torch, which takes seconds.
"""

import ast
import functools
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainer import ROOT

PLAIN = ("bool", "int", "float", "str", "list", "dict")
# Folders and files with the classes that ``_target_`` names.
SOURCES = (
    "workers/config/*.py",
    "trainer/config/*.py",
    "utils/profiler/config.py",
    "utils/qat/*.py",
    "utils/skip/*.py",
)
# Arguments of others (ray.init, the user's function), and the kit's own: any key.
OPEN = (
    "ray_kwargs.ray_init",
    "ray_kwargs.node",
    "reward.custom_reward_function.reward_kwargs",
    "reward.reward_kwargs",
    "actor_rollout_ref.rollout.custom",
)


@dataclass(frozen=True)
class Kind:
    """What a setting may hold: names of ``PLAIN``, none for anything; or a section, a dataclass of verl's.

    ``items`` is what the elements of a list are, ``length`` how many it has (0: any number). ``field`` says that a
    dataclass has it, with a default of its own.
    """

    names: frozenset[str] = frozenset()
    optional: bool = False
    choices: tuple[str, ...] = ()
    section: str = ""
    items: "Kind | None" = None
    length: int = 0
    default: Any = None
    field: bool = False


ANY = Kind(optional=True)


class UnknownKeyError(KeyError):
    """Verl has no such setting; the message says what has none."""


def verl_folder() -> Path:
    """Return the folder of verl's package, without importing it."""
    spec = importlib.util.find_spec("verl")
    assert spec is not None and spec.origin is not None, "verl is not installed"
    return Path(spec.origin).parent


@functools.cache
def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file; an empty one where it is not there."""
    return ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")


@functools.cache
def tree() -> Mapping[str, Any]:
    """Return verl's own settings, nested, with their defaults before interpolation.

    ``tests/unit/settings/test_verl_schema.py`` holds the file that verl ships against what Hydra composes.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    path = verl_folder() / "trainer" / "config" / "_generated_ppo_trainer.yaml"
    content: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)
    content["trainer"]["v1"]["ppo_kit"] = {"_target_": "trainer.algorithm.options.AlgorithmOptions"}  # the kit's own
    return content | {"model_engine": "dp"}  # the choice of files that the rest follows from


@functools.cache
def classes() -> Mapping[str, Mapping[str, Kind]]:
    """Return the fields of each dataclass of a section by name, those of its bases included."""
    nodes: dict[str, ast.ClassDef] = {}
    files = [path for pattern in SOURCES for path in sorted(verl_folder().glob(pattern))]
    for path in [*files, ROOT / "trainer" / "algorithm" / "options.py"]:
        nodes |= {node.name: node for node in parse(path).body if isinstance(node, ast.ClassDef)}
    kinds: dict[str, dict[str, Kind]] = {}

    def fields(name: str) -> dict[str, Kind]:
        if name not in kinds and name in nodes:
            node, kinds[name] = nodes[name], {}
            for base in node.bases:
                kinds[name] |= fields(base.id) if isinstance(base, ast.Name) else {}
            kinds[name] |= {statement.target.id: field_kind(statement, nodes) for statement in annotated(node)}
            for field, choices in _asserted(node):
                if field in kinds[name]:
                    kinds[name][field] = replace(kinds[name][field], choices=choices)
        return kinds.get(name, {})

    for name in nodes:
        fields(name)
    return {name: kinds for name, kinds in kinds.items() if kinds}


def annotated(node: ast.ClassDef) -> Iterator[Any]:
    """Yield the fields of a dataclass."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement


def field_kind(node: ast.AnnAssign, sections: Mapping[str, Any]) -> Kind:
    """Return the kind of a field of a dataclass, by its annotation and its default."""
    kind = _kind(node.annotation, sections)
    value = node.value.value if isinstance(node.value, ast.Constant) else None
    if isinstance(node.value, ast.UnaryOp) and isinstance(node.value.operand, ast.Constant):  # -1
        value = -node.value.operand.value  # type: ignore[operator]
    empty = isinstance(node.value, ast.Constant) and value is None
    return replace(kind, default=value, optional=kind.optional or empty, field=True)


def _kind(node: ast.expr, sections: Mapping[str, Any]) -> Kind:
    """Read an annotation; what is not understood is anything."""
    if isinstance(node, ast.Constant):  # None, or a name in quotes
        return ANY if node.value is not None else Kind(frozenset({"none"}), optional=True)
    if isinstance(node, ast.Name):
        if node.id in PLAIN:
            return Kind(frozenset({node.id}))
        return Kind(section=node.id) if node.id in sections else ANY
    if isinstance(node, ast.BinOp):
        return _union(_kind(node.left, sections), _kind(node.right, sections))
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
        return ANY
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    outer = node.value.id
    if outer == "Optional":
        return replace(_kind(inner[0], sections), optional=True)
    if outer == "Union":
        return functools.reduce(_union, (_kind(part, sections) for part in inner))
    if outer == "Literal":
        choices = tuple(str(part.value) for part in inner if isinstance(part, ast.Constant))
        return Kind(frozenset({"str"}), choices=choices)
    if outer in ("list", "List", "tuple", "Tuple"):
        length = len(inner) if outer in ("tuple", "Tuple") else 0
        return Kind(frozenset({"list"}), items=_kind(inner[0], sections), length=length)
    return Kind(frozenset({"dict"})) if outer in ("dict", "Dict") else ANY


def _union(first: Kind, second: Kind) -> Kind:
    if ANY in (first, second):
        return ANY
    names = (first.names | second.names) - {"none"}
    return Kind(
        names,
        first.optional or second.optional,
        section=first.section or second.section,
        items=first.items or second.items,
    )


def _asserted(node: ast.ClassDef) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the fields that ``__post_init__`` holds to a list of words, and the words."""
    check = next((statement for statement in node.body if getattr(statement, "name", "") == "__post_init__"), None)
    lists: dict[str, tuple[str, ...]] = {}
    for statement in ast.walk(check) if check else ():
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            lists[statement.targets[0].id] = words_of(statement.value)
        test = statement.test if isinstance(statement, ast.Assert | ast.If) else None
        if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Attribute)):
            continue
        wanted = ast.In if isinstance(statement, ast.Assert) else ast.NotIn
        if isinstance(test.ops[0], wanted):
            among = test.comparators[0]
            choices = lists.get(among.id, ()) if isinstance(among, ast.Name) else words_of(among)
            if choices:
                yield test.left.attr, choices


def words_of(node: ast.expr) -> tuple[str, ...]:
    """Return the texts of a literal list, tuple or set; none where it is none."""
    if not isinstance(node, ast.List | ast.Tuple | ast.Set):
        return ()
    values = [element.value for element in node.elts if isinstance(element, ast.Constant)]
    return tuple(value for value in values if isinstance(value, str))


def kind_of(key: str) -> Kind:
    """Return what verl's setting at a dotted ``key`` may hold.

    Raises:
        UnknownKeyError: there is none, neither in verl's files nor in its dataclasses.
    """
    if any(key == section or key.startswith(f"{section}.") for section in OPEN):
        return ANY
    node: Any = tree()
    kind, seen = Kind(section="*"), ""
    for part in key.split("."):
        fields = classes().get(kind.section, {})
        if not fields and (not node or not isinstance(node, dict)):  # {}, null or a text: the keys are another's
            if kind.names and not kind.names & {"dict"}:
                raise UnknownKeyError(f"{seen} is no group of settings")
            return ANY
        child = node.get(part) if isinstance(node, dict) else None
        listed = isinstance(node, dict) and part in node
        if part not in fields and not listed:
            raise UnknownKeyError(f"{seen or 'verl'} has no {part}")
        kind = fields[part] if part in fields else _kind_of_value(child)
        if listed:
            default = child if child is not None else kind.default
            kind = replace(kind, default=default, optional=child is None or (kind.optional and child != "???"))
        if isinstance(child, dict) and "_target_" in child:
            kind = replace(kind, section=str(child["_target_"]).rsplit(".", 1)[-1])
        node, seen = child, f"{seen}.{part}" if seen else part
    return kind


def _kind_of_value(value: Any) -> Kind:
    """Return the kind of a setting that no dataclass has, by its default."""
    if isinstance(value, dict):
        return Kind(frozenset({"dict"}), section="*" if value else "")
    if isinstance(value, bool) or (isinstance(value, float) or (isinstance(value, int) and value)):
        return Kind(frozenset({type(value).__name__}))
    if isinstance(value, int):  # 0 seconds may be written for 0.5
        return Kind(frozenset({"float"}))
    return Kind(frozenset({"str", "list"})) if isinstance(value, str) and "${" not in value else ANY

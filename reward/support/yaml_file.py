"""A person's YAML file, read so that whatever is in it is one line: PyYAML alone leaves that to each caller.

A file that fills the memory by its aliases (each a list of ten of the one before), that is nested a thousand deep, or
that has a key twice, is refused before anything is built of it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reward.support.wording import printable, reason, shown

MOST_BYTES = 1 << 20
DEEPEST = 50
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
PLAIN_NUMBER = re.compile(  # also with groups of three digits: 1_000_000
    r"[-+]?(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:_\d{3})+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|nan)",
    re.ASCII | re.I,
)
RESTORE = "put it back as it was (git checkout restores it)"
NO_NAMES = "NAME: VALUE lines are wanted, and it has none"
MOST_VALUES = 100_000  # with those that aliases repeat
NO_PART = (
    "it does not go on from what is before it: names begin in one column, a list is below a name, and a "
    "text that begins with { or [ wants quotes"
)
# What PyYAML and libyaml say, and what a person reads of it; the line is that where the thing begins.
PROBLEMS = {
    "mapping values are not allowed": "a value with ': ' in it wants quotes, and names begin in one column",
    "could not find expected ':'": "a NAME: VALUE line is wanted, or a text in quotes",
    "tab": "indent with blanks, never with tabs",
    "unhashable key": "a name is a text, and no list",
    "that cannot start any token": "a value that begins with such a character wants quotes",
    "found undefined alias": "a value that begins with * wants quotes",
    "<document start>": "names begin in one column",
    "did not find expected key": NO_PART,
    "expected <block end>": NO_PART,
    "another document": "a second document begins (---); one is wanted",
    "determine a constructor": "a value that is = alone wants quotes",
    "unknown escape": "a backslash in double quotes; write single quotes",
    "unexpected end of stream": "a quote is opened and not closed",
    "node content": "a [ or { is opened and not closed",
    "',' or": "a [ or { is opened and not closed",
}
# A line that was meant as NAME: VALUE, and has no blank after its colon, an equals sign, or a colon of an input method.
NO_COLON = re.compile(r"\s*([A-Za-z_][\w-]*)(?::(?=\S)|\s*[\uff1a=]\s*)(\S.*)")


class YamlFileError(ValueError):
    """A file that is no YAML mapping; the message says where, why and what to do."""


def read(path: Path) -> dict[str, Any]:
    """Return what is in a YAML file: its names and values; an empty file has none.

    Raises:
        YamlFileError: it cannot be read.
    """
    import yaml

    tree = _tree(path)
    try:
        content = None if tree is None else plain(tree)
    except yaml.YAMLError as error:
        raise YamlFileError(_why(error)) from None
    except (ValueError, RecursionError, TypeError) as error:  # TypeError: a list as a key
        raise YamlFileError(reason(error)) from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise YamlFileError(NO_NAMES)
    return content


def read_settings(path: Path) -> dict[str, Any]:
    """Return what is in a file of settings, which is never blank: one that was cut off would be the defaults.

    Raises:
        YamlFileError: it cannot be read, or there is nothing in it, not even a comment.
    """
    content = read(path)
    if not content and is_blank(path):
        raise YamlFileError(f"it is empty: {RESTORE}")
    return content


def is_blank(path: Path) -> bool:
    """Whether there is nothing in a file, not even a comment."""
    return not path.read_bytes().strip(b"\xef\xbb\xbf \t\r\n")


def check(path: Path) -> None:
    """Check that a file is YAML, also where it is no mapping.

    Raises:
        YamlFileError: it is none.
    """
    _tree(path)


def read_nodes(path: Path) -> list[tuple[str, int, Any]]:
    """Return the names of a YAML file with their lines and nodes, for who reads values as they are written.

    Raises:
        YamlFileError: it cannot be read.
    """
    tree = _tree(path)
    if tree is None or (tree.id == "scalar" and not tree.value):
        return []
    if tree.id != "mapping":
        raise YamlFileError(_no_colon(path.read_text(encoding="utf-8-sig").splitlines(), 1) or NO_NAMES)
    return [(str(key.value), key.start_mark.line + 1, value) for key, value in tree.value]


def plain(node: Any) -> Any:
    """Return what a node is in Python."""
    import yaml

    return yaml.constructor.SafeConstructor().construct_document(node)


def _tree(path: Path) -> Any:
    """Return the nodes of a file, None of an empty one.

    Raises:
        YamlFileError: it is no YAML, or more than a file of settings.
    """
    import yaml

    try:
        if path.stat().st_size > MOST_BYTES:
            raise YamlFileError(f"it has more than {MOST_BYTES >> 20} MiB; a file of settings is small")
        text = path.read_text(encoding="utf-8-sig")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        _check_size(iter(yaml.parse(text, loader)))
        tree = yaml.compose(text, loader)
        if fault := next(_twice(tree, ""), None) or next(_odd_numbers(tree), None):
            raise YamlFileError(fault)
    except YamlFileError:
        raise
    except yaml.YAMLError as error:
        raise YamlFileError(_why(error, text)) from None
    except (OSError, ValueError, RecursionError, TypeError) as error:
        raise YamlFileError(reason(error)) from None
    return tree


def _why(error: Any, text: str = "") -> str:
    problem = printable(str(getattr(error, "problem", None) or getattr(error, "reason", None) or "it is not YAML"))
    mark, lines = getattr(error, "problem_mark", None), text.splitlines()
    if mark is None:
        return shown(problem, 200)
    if _begins_with_tab(lines, mark):
        problem = "tab"
    start = getattr(error, "context_mark", None)
    if start is not None and problem.startswith(
        ("could not find expected", "found unexpected end", "expected the node")
    ):
        mark = start
    if meant := _no_colon(lines[max(mark.line - 1, 0) : mark.line + 1], max(mark.line, 1)):
        return meant
    problem = next((said for words, said in PROBLEMS.items() if words in problem), problem)
    return f"line {mark.line + 1}, column {mark.column + 1}: {shown(problem, 200)}"


def _begins_with_tab(lines: list[str], mark: Any) -> bool:
    line = lines[mark.line] if mark.line < len(lines) else ""
    return "	" in line[: len(line) - len(line.lstrip())] and not line[: mark.column].strip()


def _no_colon(lines: list[str], first: int) -> str:
    """Say which of some lines, the first of which has the number ``first``, is NAME: VALUE but for its colon."""
    for number, line in enumerate(lines, first):
        if match := NO_COLON.fullmatch(line):
            name, value = shown(match[1]), shown(match[2].rstrip())
            return f"line {number}: a colon and a blank are wanted, as in {name}: {value}"
    return ""


def _check_size(events: Iterator[Any]) -> None:
    """Count values as if each alias were written out, from events alone, which no alias makes more; refuse tags."""
    import yaml

    sizes: dict[str, int] = {}  # anchor -> values below it
    stack: list[tuple[str | None, int]] = [(None, 0)]
    for event in events:
        size, line = 0, event.start_mark.line + 1
        if (tag := getattr(event, "tag", None)) not in (None, "!"):
            written = tag.replace("tag:yaml.org,2002:", "!!")
            raise YamlFileError(f"line {line}: {shown(written, 60)}: write the value alone, a text in quotes")
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in stack):
                raise YamlFileError(f"line {line}: *{shown(event.anchor)} is inside of itself")
            size = sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append((event.anchor, 1))
            if len(stack) > DEEPEST:
                raise YamlFileError(f"line {line}: it is nested more than {DEEPEST} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = stack.pop()
            if anchor:
                sizes[anchor] = size
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
            if event.anchor:
                sizes[event.anchor] = 1
        stack[-1] = (stack[-1][0], stack[-1][1] + size)
        if stack[-1][1] > MOST_VALUES:
            raise YamlFileError(f"it has more than {MOST_VALUES:,} values, with those that its aliases (*name) repeat")


def _odd_numbers(node: Any) -> Iterator[str]:
    """Yield each number that YAML 1.1 reads as another than a person does: 1_0, 010 (eight), 0x10, 10:30 (630)."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from (line for part in pair for line in _odd_numbers(part))
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _odd_numbers(child)
    elif node is not None and node.tag in NUMBERS and not PLAIN_NUMBER.fullmatch(node.value):
        yield f"line {node.start_mark.line + 1}: {shown(node.value)}: write a decimal number, or a text in quotes"


def _twice(node: Any, prefix: str) -> Iterator[str]:
    """Yield each key that a mapping has twice, of which YAML readers silently take one."""
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _twice(child, prefix)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:null":
                yield f"line {line}: a name is wanted before the colon, not {shown(name) or 'nothing'}"
            if name in seen and name != "<<":
                yield f"line {line}: {shown(prefix + name)} is there already, in line {seen[name]}; leave one out"
            seen[name] = line
            yield from _twice(value, f"{prefix}{name}.")

"""README.md and the pages of docs/, as what tests ask of them: blocks, code, links, anchors, commands."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trainer import ROOT

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
FLAG = re.compile(r"(?<![\w`-])--([a-zA-Z][\w.-]*)|`--([a-zA-Z][\w.-]*)")


@dataclass(frozen=True)
class Command:
    """One command as a page has it: what is assigned before it, and its words."""

    page: str
    words: tuple[str, ...]
    environ: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return (
            f"{self.page}: {' '.join(f'{key}={value}' for key, value in self.environ.items())} {shlex.join(self.words)}"
        )


@dataclass(frozen=True)
class Page:
    """One page; ``name`` is its path in the repository."""

    name: str
    text: str

    def blocks(self, language: str) -> list[str]:
        """The fenced blocks of a language."""
        return [body for kind, body in FENCE.findall(self.text) if kind == language]

    @property
    def prose(self) -> str:
        """All that is in no fenced block."""
        return FENCE.sub("", self.text)

    @property
    def code(self) -> list[str]:
        """What stands between backquotes in the prose."""
        return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", self.prose)

    @property
    def links(self) -> list[str]:
        """The targets of links that are no address of the web."""
        found = re.findall(r"\]\(([^)\s]+)\)", self.prose)
        return [link for link in found if not link.startswith(("https://", "http://"))]

    @property
    def anchors(self) -> set[str]:
        """The anchors that GitHub makes of the headings."""
        titles = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}

    @property
    def commands(self) -> list[Command]:
        """The commands of shell blocks, and those of ``./train.sh`` and ``./test.sh`` within the prose."""
        lines = [line for block in self.blocks("bash") for line in block.replace("\\\n", " ").splitlines()]
        lines += [code for code in self.code if re.search(r"(?:^|[A-Z]=\S+ )\./\w+\.sh\b", code)]
        return [command for line in lines for command in self._command(line)]

    def _command(self, line: str) -> Iterator[Command]:
        words, environ = shlex.split(line, comments=True), {}
        while words and (match := ASSIGNMENT.fullmatch(words[0])):
            environ[match[1]] = match[2]
            words = words[1:]
        if words:
            yield Command(self.name, tuple(words), environ)


def pages() -> list[Page]:
    """Return README.md and all pages of docs/."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [Page(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in paths]


def tree(page: Page) -> list[Path]:
    """Return the paths of a page's file tree: two blanks before a name are one folder further down."""
    (block,) = [block for block in page.blocks("text") if block.startswith("train.sh ")]
    found: list[Path] = []
    for line in block.splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        above = [path for path in found if len(path.parts) == depth]
        found.append(above[-1] / name if depth else Path(name))
    return found

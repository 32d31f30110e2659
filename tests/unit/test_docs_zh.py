"""The Chinese pages say what the English ones say: the same headings, commands, code, links and figures, in this order.

What is translated is the prose between them, and comments in code. A Chinese page lies in docs/zh under the same name,
README.md as README.zh.md.
"""

import re
from collections import Counter

import pytest

from tests.support.pages import FENCE, Page, pages
from trainer import ROOT

HAN = re.compile(r"[\u4e00-\u9fff]")
FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
COMMENT = re.compile(r"\s*(?:(?<=\s)|^)(?:#|//) .*$|\s*//.*$")


def chinese(page: Page) -> Page:
    """Return the Chinese page of an English one."""
    name = "README.zh.md" if page.name == "README.md" else page.name.replace("docs/", "docs/zh/", 1)
    return Page(name, (ROOT / name).read_text(encoding="utf-8"))


READMES = {"README.md": "README.zh.md", "README.zh.md": "README.md"}  # the one that a link leads to, in either language
PAIRS = {page.name: page for page in pages()}
EACH = pytest.mark.parametrize("english", PAIRS.values(), ids=lambda page: page.name)


def lines_of(code: str) -> list[str]:
    """Return what a block says without its comments and its prose."""
    return [line for line in (COMMENT.sub("", line).rstrip() for line in code.splitlines()) if line]


@EACH
def test_headings(english: Page) -> None:
    def levels(page: Page) -> list[int]:
        return [len(marks) for marks in re.findall(r"^(#+) ", page.prose, re.MULTILINE)]

    other = chinese(english)
    assert levels(other) == levels(english)
    titles = re.findall(r"^#+ (.+)$", other.prose, re.MULTILINE)
    assert len(set(titles)) == len(titles)


@EACH
def test_commands_and_code(english: Page) -> None:
    other = chinese(english)
    kinds = [[kind for kind, _ in FENCE.findall(page.text)] for page in (english, other)]
    assert kinds[1] == kinds[0]
    for (kind, block), (_, same) in zip(FENCE.findall(english.text), FENCE.findall(other.text), strict=True):
        if kind in ("bash", "python", "json", "yaml"):
            assert lines_of(same) == lines_of(block)
    assert Counter(other.code) == Counter(english.code)


def test_the_readme_shows_the_same_run() -> None:
    shown = [
        page.text.split("```text\n")[1].split("```")[0] for page in (PAIRS["README.md"], chinese(PAIRS["README.md"]))
    ]
    assert shown[1] == shown[0]


@EACH
def test_figures(english: Page) -> None:
    def figures(page: Page) -> Counter[str]:
        prose = re.sub(r"`[^`\n]+`|\]\([^)\s]+\)", " ", page.prose)
        return Counter(number.rstrip(",") for number in FIGURE.findall(re.sub(r"(?<=\d)[%\u4e00-\u9fff]", " ", prose)))

    other = chinese(english)
    assert figures(other) == figures(english)


@EACH
def test_tables(english: Page) -> None:
    def rows(page: Page) -> list[int]:
        return [line.count("|") for line in page.prose.splitlines() if line.startswith("|")]

    assert rows(chinese(english)) == rows(english)


@EACH
def test_links(english: Page) -> None:
    """Between Chinese pages, to a heading that is there."""
    other = chinese(english)
    assert len(other.links) == len(english.links)
    for link, same in zip(english.links, other.links, strict=True):
        path, _, anchor = same.partition("#")
        target = ((ROOT / other.name).parent / path).resolve() if path else ROOT / other.name
        assert target.exists(), same
        wanted = link.partition("#")[0].split("/")[-1]
        if wanted in READMES:
            assert READMES[wanted] == target.name, (link, same)
        elif wanted.endswith(".md"):
            assert (target.parent.name, target.name) == ("zh", wanted), (link, same)
        assert bool(anchor) == ("#" in link), (link, same)
        if anchor:
            assert anchor in Page(same, target.read_text(encoding="utf-8")).anchors, same


@EACH
def test_it_is_chinese(english: Page) -> None:
    """Each paragraph of prose is: none was left as it was."""
    paragraphs = [
        part for part in re.split(r"\n\s*\n", chinese(english).prose) if re.search(r"[A-Za-z]{3}.* .*[a-z]{3}", part)
    ]
    untranslated = [part for part in paragraphs if not HAN.search(part) and not part.startswith("<!--")]
    assert untranslated == []

"""IFEval's 25 instructions beside google-research's checkers and lm-evaluation-harness's."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reward.rules.parsing import sentences
from tests.bench.graders import ifeval_responses
from tests.bench.graders.peers import Peer, ask
from tests.bench.graders.tally import Tally, lines, score

Question = tuple[str, dict[str, Any], str]  # instruction, its arguments, response
VERDICT = """
import random, langdetect
langdetect.DetectorFactory.seed = 0
def follows(name, arguments, response):
    random.seed(0)  # arguments that it does not take are drawn
    instruction = instructions_registry.INSTRUCTION_DICT[name](name)
    instruction.build_description(**arguments)
    return bool(response.strip() and instruction.check_following(response))
"""
PACKAGES = ("nltk==3.10.0", "langdetect", "immutabledict", "absl-py", "packaging", "typer", "requests")
GOOGLE = Peer(
    "IFEval, google-research's checkers",
    "from instruction_following_eval import instructions_registry" + VERDICT,
    "follows(*asked)",
    PACKAGES,
    ("instruction_following_eval",),
)
HARNESS = Peer(
    "IFEval's checkers in lm-evaluation-harness",
    # Of the package only the task's folder is imported: the rest asks for torch.
    "import types\n"
    "for name, path in (('lm_eval', []), ('lm_eval.tasks', []), ('lm_eval.tasks.ifeval', sys.path[1:2])):\n"
    "    sys.modules[name] = types.ModuleType(name); sys.modules[name].__path__ = path\n"
    "from lm_eval.tasks.ifeval import instructions_registry" + VERDICT,
    "follows(*asked)",
    PACKAGES,
    ("lm-evaluation-harness/lm_eval/tasks/ifeval",),
)
WORD = re.compile(r"[A-Za-z]{3,12}")
RELATIONS = ("at least", "less than")


def google(copies: Path, prompts: Path, responses: list[Path]) -> list[Tally]:
    """The set's 541 prompts, about thirty responses to each."""
    real = [[row["response"] or "" for row in lines(path)] for path in responses]
    asked: list[Question] = [
        (name, {k: v for k, v in arguments.items() if v is not None}, response)
        for index, row in enumerate(lines(prompts))
        for response in ifeval_responses.styles(row, index, real)
        for name, arguments in zip(row["instruction_id_list"], row["kwargs"], strict=True)
    ]
    return _compared(GOOGLE, copies, asked)


def harness(copies: Path, path: Path) -> list[Tally]:
    """IFBench's sample responses in several forms, with arguments near what each has."""
    draw = random.Random(0)
    asked = [
        (name, arguments, form)
        for row in lines(path)
        for form in forms(row["response"] or "")
        if form.strip()
        for name, arguments in draw.sample(list(instructions(form, draw)), 9)
    ]
    return _compared(HARNESS, copies, asked)


def _compared(peer: Peer, copies: Path, asked: list[Question]) -> list[Tally]:
    """All verdicts, and those of `number_sentences` alone, whose text is cut by NLTK's Punkt there."""
    whole, cut = Tally(peer.name), Tally(f"{peer.name}, of these number_sentences")
    for (name, arguments, response), theirs in zip(asked, ask(peer, copies, asked), strict=True):
        ours = score("instructions", response, [{"id": name, **arguments}])
        for tally in (whole, cut) if name.endswith("number_sentences") else (whole,):
            tally.add(ours, theirs, f"{name} {arguments}: {response[:60]!r}")
    for name, count in Counter(text.split()[4] for text in whole.differences).most_common():
        print(f"- {peer.name}, {name}: {count} differ")
    return [whole, cut]


def forms(text: str) -> Iterator[str]:
    """Yield a response, and what becomes of it by changes that fool checkers."""
    yield from (text, text.upper(), text.lower(), text[:300], text[-300:], f'"{text}"', f"<<A title>>\n{text}")
    yield from (text.replace(",", ""), text.replace(". ", "!! "), "* " + text.replace(". ", ".\n* "))
    yield from (text.replace("\n\n", "\n***\n"), f"{text[:500]}\n\nP.S. bye", f"```json\n{{}}\n```\n{text[:99]}")
    yield f"Section 1\n{text[:200]} [x] *one part*\nSection 2\n{text[:100]} [y] My answer is no."


def instructions(text: str, draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield IFEval's instructions with arguments that the text just meets or just misses."""
    words, relation = WORD.findall(text) or ["word"], draw.choice(RELATIONS)
    word, letter = draw.choice(words), draw.choice("aeiost")
    counts = {
        "length_constraints:number_words": ("num_words", len(text.split())),
        "length_constraints:number_sentences": ("num_sentences", sentences.count(text)),
        "change_case:capital_word_frequency": ("capital_frequency", sum(w.isupper() for w in text.split())),
    }
    for name, (key, count) in counts.items():
        related = "capital_relation" if name.endswith("capital_word_frequency") else "relation"
        yield name, {key: max(1, count + draw.randint(-1, 1)), related: relation}
    near = max(1, text.lower().count(word.lower()) + draw.randint(-1, 1))
    yield "keywords:frequency", {"keyword": word, "frequency": near, "relation": relation}
    near = max(1, text.lower().count(letter) + draw.randint(-1, 1))
    yield "keywords:letter_frequency", {"letter": letter, "let_frequency": near, "let_relation": relation}
    yield "keywords:existence", {"keywords": [word, draw.choice(words)]}
    yield "keywords:forbidden_words", {"forbidden_words": [word[:4], "zebra"]}
    yield "length_constraints:number_paragraphs", {"num_paragraphs": max(1, text.count("***") + draw.randint(0, 1))}
    first = {"num_paragraphs": text.count("\n\n") + 1, "nth_paragraph": 1, "first_word": text.split()[0].strip('"*')}
    yield "length_constraints:nth_paragraph_first_word", first
    yield "detectable_content:number_placeholders", {"num_placeholders": max(1, text.count("["))}
    yield "detectable_content:postscript", {"postscript_marker": draw.choice(("P.S.", "P.P.S"))}
    yield "detectable_format:number_bullet_lists", {"num_bullets": max(1, text.count("\n* ") + draw.randint(0, 1))}
    yield "detectable_format:number_highlighted_sections", {"num_highlights": max(1, text.count("*") // 2)}
    yield "detectable_format:multiple_sections", {"section_spliter": "Section", "num_sections": draw.randint(1, 2)}
    bare = ("detectable_format:constrained_response", "detectable_format:json_format", "detectable_format:title")
    cases = ("change_case:english_capital", "change_case:english_lowercase", "combination:two_responses")
    for name in (*bare, *cases, "punctuation:no_comma", "startend:quotation"):
        yield name, {}
    yield "startend:end_checker", {"end_phrase": " ".join(text.split()[-2:])}
    yield "language:response_language", {"language": draw.choice(("en", "de", "fr"))}
    yield "combination:repeat_prompt", {"prompt_to_repeat": "".join(itertools.islice(text, 20)).strip()}

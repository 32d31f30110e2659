"""Short answers in words beside the evaluations of SQuAD, TriviaQA and DROP.

Truths are the answers of one published model to SQuAD's questions, responses those of the others to the same ones
(half of them agree, the rest overlap), and the truths rewritten.
"""

import json
from collections.abc import Callable
from pathlib import Path

from tests.bench.graders.peers import Peer, ask
from tests.bench.graders.tally import Case, Tally, compare

EVERY = 20  # one of so many questions
REWRITTEN: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "a full stop": lambda text: f"{text}.",
    "an article": lambda text: f"the {text}",
    "quotes": lambda text: f'"{text}"',
    "typographic quotes": lambda text: f"\u201c{text}\u201d",
    "hyphens": lambda text: text.replace(" ", "-"),
    "underscores": lambda text: text.replace(" ", "_"),
    "no thousands": lambda text: text.replace(",", ""),
    "two words more": lambda text: f"{text} and more",
    "without its last word": lambda text: text.rpartition(" ")[0] or text,
    "in reverse": lambda text: " ".join(reversed(text.split())),
    "another digit": lambda text: text[:-1] + str((int(text[-1]) + 1) % 10) if text[-1:] in "0123456789" else text,
}
# Questions are [truth, response]; SQuAD's script is the copy in allennlp-reading-comprehension.
LOAD = """
import importlib.util
def load(name):
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""
RC = ("allennlp-reading-comprehension/allennlp_rc/eval",)
EXACT = (
    Peer("SQuAD's exact match", LOAD + "m = load('squad_eval')", "m.exact_match_score(asked[1], asked[0])", (), RC),
    Peer(
        "TriviaQA's exact match",
        LOAD + "m = load('evaluation.triviaqa_evaluation')",
        "m.exact_match_score(asked[1], asked[0])",
        (),
        ("triviaqa",),
    ),
    Peer(
        "DROP's exact match, one span",
        LOAD + "m = load('drop_eval')",
        "m.get_metrics(asked[1], asked[0])[0]",
        ("numpy", "scipy"),
        RC,
    ),
)
F1 = (
    Peer("SQuAD's F1", LOAD + "m = load('squad_eval')", "m.f1_score(asked[1], asked[0])", (), RC),
    Peer(
        "TriviaQA's F1",
        LOAD + "m = load('evaluation.triviaqa_evaluation')",
        "m.f1_score(asked[1], asked[0])",
        (),
        ("triviaqa",),
    ),
    Peer(
        "DROP's F1, one span",
        LOAD + "m = load('drop_eval')",
        "m.get_metrics(asked[1], asked[0])[1]",
        ("numpy", "scipy"),
        RC,
    ),
)


def pairs(folder: Path) -> list[tuple[str, str]]:
    """Return different pairs of truth and response."""
    models = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    answers = []
    for key, truth in list(models[0].items())[::EVERY]:
        others = [model.get(key) for model in models[1:]] + [rewrite(truth) for rewrite in REWRITTEN.values()]
        answers += [(truth, other) for other in others if truth and other]
    return list(dict.fromkeys(answers))


def compared(copies: Path, folder: Path) -> list[Tally]:
    """Return what each evaluation says of the pairs beside the rules `text` and `token_f1`; F1 to two places."""
    asked, tallies = pairs(folder), []
    for rule, peers in (("text", EXACT), ("token_f1", F1)):
        for peer in peers:
            verdicts = ask(peer, copies, asked)
            cases: list[Case] = [(rule, *pair[::-1], theirs) for pair, theirs in zip(asked, verdicts, strict=True)]
            tallies.append(compare(peer.name, cases, digits=2))
    return tallies

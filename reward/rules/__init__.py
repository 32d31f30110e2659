"""Rule functions, one file a family, and the table from a row's ``data_source`` to its rule."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from reward.rules.rule import Rule
from reward.support.nearest import nearest

PLACES = {  # a rule's module and its name there
    "arith": "number.RULE",
    "sums": "number.RULE",
    "number": "number.RULE",
    "text": "text.EXACT",
    "exact_match": "text.EXACT",
    "token_f1": "text.F1",
    "rajpurkar/squad": "text.F1",
    "hotpotqa/hotpot_qa": "text.F1",
    "math": "math.RULE",
    "math_reasoning": "math.RULE",
    "MATH": "math.RULE",
    "lighteval/MATH": "math.RULE",
    "EleutherAI/hendrycks_math": "math.RULE",
    "DigitalLearningGmbH/MATH-lighteval": "math.RULE",
    "HuggingFaceH4/MATH-500": "math.RULE",
    "math_dapo": "math.RULE",
    "AI-MO/NuminaMath-CoT": "math.RULE",
    "agentica-org/DeepScaleR-Preview-Dataset": "math.RULE",
    "gsm8k": "gsm8k.RULE",
    "openai/gsm8k": "gsm8k.RULE",
    "choice": "choice.RULE",
    "multiple_choice": "choice.RULE",
    "cais/mmlu": "choice.RULE",
    "allenai/ai2_arc": "choice.RULE",
    "format": "format.RULE",
    "regex": "format.REGEX",
    "json_schema": "format.SCHEMA",
    "instructions": "instructions.RULE",
    "google/IFEval": "instructions.RULE",
    "code": "code.RULE",
    "humaneval": "code.RULE",
    "openai_humaneval": "code.RULE",
    "openai/openai_humaneval": "code.RULE",
    "mbpp": "code.RULE",
    "google-research-datasets/mbpp": "code.RULE",
}


class Rules(Mapping[str, Rule]):
    """The rules by data source, each imported when it is asked for: patterns of all take 0.4 s to compile."""

    def __getitem__(self, source: str) -> Rule:
        module, name = PLACES[source].split(".")
        rule: Rule = getattr(import_module(f"{__name__}.{module}"), name)
        return rule

    def __contains__(self, source: object) -> bool:
        return source in PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


RULES = Rules()
SHOWN = ("number", "text", "math", "gsm8k", "choice", "code", "format", "instructions")  # one of a kind


def no_rule(*names: str) -> str:
    """Return what is said of data sources that no rule knows."""
    near = [match for name in names for match in nearest(name, RULES)]
    hint = f" (did you mean {', '.join(map(repr, dict.fromkeys(near)))}?)" if near else ""
    return (
        f"no rule scores data_source {', '.join(map(repr, names))}{hint}; there are rules for {', '.join(SHOWN)} and "
        "others (docs/rewards.md), or score with a function of your own: --reward_fn mine.py"
    )

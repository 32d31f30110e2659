"""Defaults that were made for other models than the one that was given: what a run would otherwise show after hours."""

from collections.abc import Iterator

from reward.support.wording import shown
from trainer.settings.settings import Settings

# Parameters below which a model learns next to nothing at the table's learning rate, and the rates that it takes.
# 1e-4 and 1e-3: builtin:tiny, measured. 1e-5: TRL's PPO of GPT-2 (124M), learning_rate 1.41e-5 (trl 0.7, PPOConfig);
# the critic's is ten times that, as in verl's examples.
RATES = ((20_000_000, 1e-4, 1e-3), (300_000_000, 1e-5, 1e-4))
SHORT = 64  # tokens; a sentence or two
OWN_DEFAULTS = ("builtin:tiny", "builtin:smollm2")  # the models that a column of the table is for
OWN_DATA = ("builtin:arith", "builtin:instructions")  # and the data that its lengths are for


def warnings(settings: Settings, parameters: int | None) -> Iterator[str]:
    """Yield a line for each default that does not fit a model of so many ``parameters``; what was given stays."""
    own = settings.text("MODEL_PATH") in OWN_DEFAULTS
    if not (own and settings.text("DATA") in OWN_DATA):
        yield from _of_length(settings)
    if not own and parameters is not None:
        yield from _of_rate(settings, parameters)


def _of_length(settings: Settings) -> Iterator[str]:
    tokens = settings.integer("MAX_RESPONSE_LENGTH")
    if "MAX_RESPONSE_LENGTH" in settings.explicit or settings.text("ENV_NAME") or settings.text("TOOLS"):
        return
    if tokens < SHORT:
        yield (
            f"--max_response_length {tokens}, the default here, cuts the answers of most chat models, and a cut "
            "answer is seldom right; give 128 or more, or have the prompts ask for a few words"
        )


def _of_rate(settings: Settings, parameters: int) -> Iterator[str]:
    if {"LR", "CRITIC_LR"} & settings.explicit or settings.integer("LORA_RANK"):
        return
    fits = next(((lr, critic) for most, lr, critic in RATES if parameters < most), None)
    if fits is not None:
        name, rate = shown(settings.text("MODEL_PATH")), f"--lr {settings.number('LR'):g}"
        yield (
            f"{rate}, the default, is for models of half a billion parameters and more, and {name} has "
            f"{parameters / 1e6:,.1f} million; try --lr {fits[0]:g} --critic_lr {fits[1]:g}"
        )

"""The prompts as the model's tokenizer and chat template write them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from data import models
from data.report import Lengths, report
from environments.tools.spec import Schema
from reward.model.imports import transformers
from reward.support.wording import reason, shown
from trainer.checks import policy_model
from trainer.checks.finding import Finding
from trainer.checks.multi_turn import conversation_check, tools_check
from trainer.settings.settings import Settings
from trainer.user_error import UserError


def tell_of(
    settings: Settings,
    model: models.Model,
    files: tuple[Path, Path],
    tools: list[Schema],
    observations: Sequence[str],
    say: Callable[[str], None],
) -> tuple[tuple[int, int], bool, list[Finding]]:
    """Say what is odd about the data; return how many prompts there are to train on, less those too long, and held out.

    The other values are whether that is exact, and what is to say of their lengths, and of those of conversations, by
    the ``observations`` of an environment between two turns.

    Raises:
        UserError: too few prompts are left for one batch, a conversation does not fit, or the model has no chat
            template.
    """
    limit, batch = settings.integer("MAX_PROMPT_LENGTH"), settings.integer("BATCH_SIZE")
    name, library = settings.text("MODEL_PATH"), transformers()
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(model.path, trust_remote_code=False)
        faults = policy_model.tokenizer_faults(tokenizer, model.config)
        summary = None if faults else report(*files, tokenizer, limit, tools or None)
    except Exception as error:  # of a stranger's tokenizer or template
        raise UserError(
            f"--model {shown(name)}: its tokenizer cannot make prompts of the data ({reason(error)}); "
            f"{policy_model.RESTORE}"
        ) from None
    if summary is None:
        raise UserError(*(f"--model {shown(name)}: {fault}" for fault in faults))
    if tools and (fault := tools_check.template_fault(tokenizer, tools, {})):
        raise UserError(f"--model {name}: {fault}")
    for line in summary.notable(settings.text("REWARD_FN"), bool(settings.text("ENV_NAME"))):
        say(line)
    lengths = summary.lengths or Lengths(0, 0, 0, 0.0, limit)
    usable = summary.rows - round(lengths.too_long * summary.rows)
    if usable < batch:
        raise UserError(
            f"--max_prompt_length {limit}: {usable} of {summary.rows} prompts are not longer, and a batch has {batch}; "
            f"the longest measured has {lengths.longest} tokens: raise it, or lower --batch_size"
        )
    warning = conversation_check.of_episodes(settings, tokenizer, observations)
    if tools:
        conversation_check.of_tools(settings, tokenizer)
    findings = [Finding("tokenizer", "ok", summary.of_lengths())]
    findings += [Finding("tokenizer", "warn", warning)] * bool(warning)
    return (usable, summary.held_out), lengths.measured >= summary.rows, findings

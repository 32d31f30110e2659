"""The prompts as the model's tokenizer and chat template write them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

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


def too_few(limit: int, rows: int, usable: int, longest: int, batch: int) -> str:
    """Say that too few prompts are within the limit for a batch, and what to do."""
    if usable == rows:
        return f"--batch_size {batch}: there are {rows} prompts to train on; lower it, or give more data"
    how = f"raise it to {longest}" + ", or lower --batch_size" * (usable > 0)
    which = f"all {rows} prompts exceed it" if not usable else f"{rows - usable} of {rows} prompts exceed it"
    left = f", and a batch has {batch}" if usable else ""
    return f"--max_prompt_length {limit}: {which}{left}: {how}"


class ByteTokenizer:
    """Prompts as ``builtin:tiny`` reads them, before it is made: a token a byte, and one for each role."""

    def apply_chat_template(self, messages: Any, **_: object) -> str:
        """Return a prompt, each token of the template a character that stands for nothing else."""
        turns = [f"\0{message['content']}{chr(0) * (message['role'] == 'assistant')}" for message in messages]
        return "".join(turns) + "\0"

    def __call__(self, text: str, **_: object) -> dict[str, bytes]:
        """Return the tokens of a text."""
        return {"input_ids": text.encode()}


def of_unmade(settings: Settings, files: tuple[Path, Path]) -> Iterator[Finding]:
    """Yield whether the prompts are within the limit for a built-in model that is not made yet, where that is known."""
    limit, batch = settings.integer("MAX_PROMPT_LENGTH"), settings.integer("BATCH_SIZE")
    name = settings.text("MODEL_PATH")
    if settings.text("ENV_NAME") or settings.text("TOOLS"):
        return
    if name != "builtin:tiny":
        text = f"prompts are measured once the first launch has made {name}; those above {limit} tokens are left out"
        yield Finding("tokenizer", "ok", text)
        return
    summary = report(*files, ByteTokenizer(), limit)
    lengths = summary.lengths or Lengths(0, 0, 0, 0.0, limit)
    usable = summary.rows - round(lengths.too_long * summary.rows)
    if usable < batch:
        yield Finding("tokenizer", "fail", too_few(limit, summary.rows, usable, lengths.longest, batch))
    else:
        yield Finding("tokenizer", "ok", summary.of_lengths())


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
        raise UserError(too_few(limit, summary.rows, usable, lengths.longest, batch))
    warning = conversation_check.of_episodes(settings, tokenizer, observations)
    if tools:
        conversation_check.of_tools(settings, tokenizer)
    findings = [Finding("tokenizer", "ok", summary.of_lengths())]
    findings += [Finding("tokenizer", "warn", warning)] * bool(warning)
    return (usable, summary.held_out), lengths.measured >= summary.rows, findings

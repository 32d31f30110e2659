"""The prompts as the model's tokenizer and chat template write them, and whether there are enough for a step.

A size of a batch that was given is refused where they are not; one that was left to the kit shrinks, by
``Settings.filled_by``, once all checks know how many prompts there are.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from data import models
from data.report import Lengths, Report, report
from environments.tools.spec import Schema
from reward.model.imports import transformers
from reward.support.wording import counted, reason, shown
from trainer.checks import policy_model
from trainer.checks.finding import Finding
from trainer.checks.multi_turn import conversation_check, tools_check
from trainer.checks.tokens import plain_tokenizer
from trainer.settings import batch_size
from trainer.settings.settings import Settings
from trainer.user_error import UserError

TOY = 16  # prompts: fewer show that a run works, and little more


def count_findings(settings: Settings, rows: int, held_out: int) -> Iterator[Finding]:
    """Yield what there is to say of the number of prompts, before any is measured."""
    if fault := too_few(settings, rows, rows):
        yield Finding("data", "fail", fault)
        return
    yield Finding("data", "ok", f"{settings.text('DATA')}: {counted(rows, 'prompt')} to train on, {held_out} held out")
    if rows < TOY:
        prompts = f"{rows} prompt{'s' * (rows > 1)} to train on"
        yield Finding("data", "warn", f"{prompts}: a toy, which shows that a run works; a model learns from hundreds")


def too_few(settings: Settings, rows: int, usable: int, longest: int = 0) -> str:
    """Return that too few of ``rows`` prompts are within the limit for a step, and what to do; empty where enough are.

    A batch that is left to the kit shrinks to what the prompts fill, but not to fewer than half of them, where the
    others are too long.
    """
    least, given = batch_size.least(settings.values, frozenset(settings.default_sizes)), _given(settings)
    half_are_too_long = given != "BATCH_SIZE" and 2 * usable < min(rows, settings.integer("BATCH_SIZE"))
    if usable >= least and not half_are_too_long:
        return ""
    near = batch_size.largest(settings.values, given, usable) if given else 0
    smaller = f"give --{given.lower()} {near} at most" if near and near < settings.integer(given) else ""
    if usable < rows:
        all_of_them = f"all {rows} prompts exceed it" if rows > 1 else "the one prompt exceeds it"
        which = f"{rows - usable} of {rows} prompts exceed it" if usable else all_of_them
        asked = f", and --{given.lower()} is {settings.integer(given)}" if smaller else ""
        limit = f"--max_prompt_length {settings.integer('MAX_PROMPT_LENGTH')}"
        return f"{limit}: {which}{asked}: raise it to {longest}{f', or {smaller}' if smaller else ''}"
    there = f"there {'is 1 prompt' if rows == 1 else f'are {rows} prompts'} to train on"
    if smaller:
        return f"--{given.lower()} {settings.integer(given)}: {there}; {smaller}, or leave it out"
    ranks = settings.integer("N_GPUS") * settings.integer("NNODES")
    return f"--n_gpus: {ranks} ranks share the prompts of a step, {least} at least, and {there}; take fewer ranks"


def _given(settings: Settings) -> str:
    """Return the size that decides how many prompts a step takes, of those that were given; empty where none was."""
    return next((env for env in batch_size.FITTED if env not in settings.default_sizes), "")


class ByteTokenizer:
    """Prompts as ``builtin:tiny`` reads them, before it is made: a token a byte, and one for each role."""

    def apply_chat_template(self, messages: Any, **_: object) -> str:
        """Return a prompt, each token of the template a character that stands for nothing else."""
        turns = [f"\0{message['content']}{chr(0) * (message['role'] == 'assistant')}" for message in messages]
        return "".join(turns) + "\0"

    def __call__(self, text: str, **_: object) -> dict[str, bytes]:
        """Return the tokens of a text."""
        return {"input_ids": text.encode()}


def of_bytes(
    settings: Settings, files: tuple[Path, Path], say: Callable[[str], None]
) -> tuple[tuple[int, int], bool, list[Finding]]:
    """Return as ``tell_of`` for ``builtin:tiny``, whose tokens are known without it.

    Raises:
        UserError: too few prompts are within the limit.
    """
    summary = report(*files, ByteTokenizer(), settings.integer("MAX_PROMPT_LENGTH"))
    result = _measured(settings, summary)
    _tell(settings, summary, say)
    return result


def _measured(settings: Settings, summary: Report) -> tuple[tuple[int, int], bool, list[Finding]]:
    """Return how many prompts are within the limit, and held out, whether that is exact, and what to say of lengths.

    Raises:
        UserError: too few are.
    """
    lengths = summary.lengths or Lengths(0, 0, 0, 0.0, settings.integer("MAX_PROMPT_LENGTH"))
    usable = summary.rows - round(lengths.too_long * summary.rows)
    if fault := too_few(settings, summary.rows, usable, lengths.longest):
        raise UserError(fault)
    findings = [Finding("tokenizer", "ok", summary.of_lengths())]
    return (usable, summary.held_out), lengths.measured >= summary.rows, findings


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
    limit, name = settings.integer("MAX_PROMPT_LENGTH"), settings.text("MODEL_PATH")
    try:
        tokenizer = _tokenizer(name, model)
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
    _tell(settings, summary, say)
    rows, exact, findings = _measured(settings, summary)
    warning = conversation_check.of_episodes(settings, tokenizer, observations)
    if tools:
        conversation_check.of_tools(settings, tokenizer)
    findings += [Finding("tokenizer", "warn", warning)] * bool(warning)
    return rows, exact, findings


def of_dry_run(
    settings: Settings, model: models.Model, files: tuple[Path, Path], tools: list[Schema], say: Callable[[str], None]
) -> tuple[tuple[int, int] | None, bool, list[Finding]]:
    """Return as ``tell_of``, without what stands between turns, of a tokenizer that can be read without transformers.

    Where there is none, that is said, and nothing is known. Each refusal is the word of transformers' own tokenizer.

    Raises:
        UserError: as ``tell_of``.
    """
    name = settings.text("MODEL_PATH")
    if missing := plain_tokenizer.missing(name, model):
        say(f"prompts were not measured: {missing}; ./train.sh check measures them")
        return None, True, []
    with contextlib.suppress(Exception):  # of a stranger's tokenizer or template, or too few prompts
        tokenizer = plain_tokenizer.of_model(name, model)
        summary = report(*files, tokenizer, settings.integer("MAX_PROMPT_LENGTH"), tools or None)
        result = _measured(settings, summary)
        _tell(settings, summary, say)
        return result
    return tell_of(settings, model, files, tools, (), say)


def _tell(settings: Settings, summary: Report, say: Callable[[str], None]) -> None:
    for line in summary.notable(settings.text("REWARD_FN"), bool(settings.text("ENV_NAME"))):
        say(line)


def _tokenizer(name: str, model: models.Model) -> Any:
    """Return the model's tokenizer; that of ``builtin:smollm2`` is known before the model is made."""
    if name == "builtin:smollm2" and not Path(model.path).is_dir():
        from data.smollm2 import model as smollm2

        return smollm2.tokenizer()
    return transformers().AutoTokenizer.from_pretrained(model.path, trust_remote_code=False)

"""``./train.sh judge_check [FILE]``: how far can the LLM judge be trusted?"""

import asyncio
from collections.abc import Sequence

from reward.judge import check as judging
from reward.judge.config import ConfigError, JudgeConfig, key_faults, unpriced
from reward.judge.providers import PROVIDERS, Endpoint
from reward.support.wording import shown
from trainer.checks import judge
from trainer.settings.settings import Settings
from trainer.user_error import UserError, say

OTHERWISE = "math"  # the labelled answers where a preset has none


def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Ask one or several judges (``--rm_model A,B``) about labelled answers; print how far each can be trusted.

    Raises:
        UserError: the file, a key or a model is not there.
    """
    if len(arguments) > 1:
        typed = shown(" ".join(arguments)) or "none"
        raise UserError(f"judge_check: one JSONL file is wanted, as in ./train.sh judge_check FILE, not {typed}")
    try:
        config = judge.config(settings)
        name = arguments[0] if arguments else _ready_set(config.prompts.preset)
        judges = _judges(config)
        rows = judging.read(name)
    except (ConfigError, judging.LabelError) as error:
        raise UserError(*str(error).splitlines()) from None
    faults = [fault for judge_config in judges for fault in (*unpriced(judge_config), *key_faults(judge_config))]
    if faults:
        raise UserError(*faults)
    faults = judge.out_of_reach(judges)
    if faults:
        raise UserError(*faults)
    say(f"{name}: {len(rows)} labelled answers, {judging.REPEATS + 2} questions about each")
    findings = [asyncio.run(judging.check(judge_config, rows)) for judge_config in judges]
    print("\n".join(judging.table(findings)))
    return 0 if any(finding.unscored < finding.rows for finding in findings) else 1


def _ready_set(preset: str) -> str:
    """Return the labelled answers that ship for a preset; for one without any, others, which is said."""
    if preset in judging.sets():
        return preset
    say(f"no labelled answers ship for the preset {preset}; taking those of {OTHERWISE}")
    return OTHERWISE


def _judges(config: JudgeConfig) -> list[JudgeConfig]:
    """Return a configuration for each of the models that are named by commas, with ``provider:`` before some."""
    judges = []
    for model in filter(None, map(str.strip, config.model.split(","))):
        provider, _, model_name = model.partition(":")
        endpoint = Endpoint(config.api_type, model, config.base_url, config.api_key_env)
        if provider in PROVIDERS and model_name:
            base_url = config.base_url if provider == config.api_type else ""
            endpoint = Endpoint(provider, model_name, base_url, config.api_key_env)
        judges.append(config.only(endpoint))
    return judges

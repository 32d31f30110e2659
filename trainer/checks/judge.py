"""The LLM judge of a run before it starts: its configuration, one request to see that it answers, what it will cost."""

import asyncio
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from reward.judge.config import FLAGS, ConfigError, JudgeConfig, key_faults, load, unpriced
from reward.judge.failures import RETRIED
from reward.judge.gateway import budget, cache
from reward.judge.gateway.backend import USUAL_OUTPUT
from reward.judge.gateway.gateway import OUTAGE, Gateway, JudgeAnswer
from reward.judge.keys import refusal_text
from reward.judge.prompts.question import typed
from reward.judge.providers import Endpoint
from trainer import ROOT
from trainer.checks.finding import Finding, failures
from trainer.settings.settings import Settings

FILE = ROOT / "config" / "api_reward_config.yaml"
# Knob -> field of the configuration.
FIELDS = {flag.removeprefix("--").upper(): name for name, flag in FLAGS.items()}
PROBE_SECONDS = 30.0
PASSING = RETRIED | {"outage"}  # may be over by itself when responses are judged; a refused key may not
FORCE_HINT = "; use --force if it will be back by the first step"


def is_used(settings: Settings) -> bool:
    """Whether the judge scores, alone or in a composite."""
    return settings.reward.kind == "judge" or "judge_score" in settings.reward.weights


def config(settings: Settings, file: Path | None = None) -> JudgeConfig:
    """Return the judge's configuration: the file, and over it the flags that were given.

    Raises:
        ConfigError: with every fault, one line each.
    """
    flags = {FIELDS[env]: settings.values[env] for env in FIELDS if env in settings.explicit}
    for name in ("system_prompt", "scoring_prompt"):
        if name in flags:
            flags[name] = typed(str(flags[name]))
    loaded = load(file or FILE, flags)
    if loaded.cache == "auto":
        return dataclasses.replace(loaded, cache=str(settings.output / "cache" / "judge.sqlite"))
    return dataclasses.replace(loaded, cache=str(ROOT / loaded.cache) if loaded.cache else "")


def plan(settings: Settings) -> tuple[JudgeConfig | None, list[str]]:
    """Return the judge's configuration, if it scores, and what is wrong with it; a dry run needs no key."""
    if not is_used(settings):
        return None, []
    try:
        judge_config = config(settings)
    except ConfigError as error:
        return None, list(error.faults)
    faults = unpriced(judge_config)
    if judge_config.at_limit == "continue" and set(settings.reward.weights) <= {"judge_score"}:
        faults.append(f"config/{FILE.name}: at_limit: continue: the judge is the only reward; take at_limit: stop")
    return judge_config, faults if settings.dry_run else faults + key_faults(judge_config)


def try_out(judge_config: JudgeConfig) -> tuple[list[Finding], float | None]:
    """Ask each endpoint one question; return what is wrong with cache, keys, models, quotas or addresses, if anything.

    With it come the seconds that the first endpoint took for its verdict, if it gave one.
    A fallback is asked too: when it is needed, nobody is there to fix it. One that does not answer now can be forced:
    a person may know that it will.
    """
    faults: list[Finding] = []
    if judge_config.cache:
        try:
            cache.try_out(Path(judge_config.cache))
        except cache.CacheError as error:
            faults += failures("judge", [str(error)])
    alone = [judge_config.only(endpoint) for endpoint in judge_config.endpoints]
    answers = _answers(alone)
    for number, (single, (answer, _)) in enumerate(zip(alone, answers, strict=True)):
        where = f"config/{FILE.name}: fallback[{number - 1}], {single.endpoints[0]}" if number else ""
        passing = answer.why in PASSING
        messages = [text + FORCE_HINT * passing for text in _fault(where, single.endpoints[0], answer)]
        faults += failures("judge", messages, forced=passing)
    first, seconds = answers[0]
    return faults, seconds if first.raw is not None else None


def out_of_reach(judges: Sequence[JudgeConfig]) -> list[str]:
    """Ask several judges one question each; return which cannot be asked at all, and why."""
    return [
        fault
        for single, (answer, _) in zip(judges, _answers(judges), strict=True)
        if answer.why in OUTAGE
        for fault in _fault(f"the judge {single.endpoints[0]}" if len(judges) > 1 else "", single.endpoints[0], answer)
    ]


def _fault(where: str, endpoint: Endpoint, answer: JudgeAnswer) -> list[str]:
    """Return why an endpoint gave no verdict, if it did not; ``where`` it is configured, if not by the flags."""
    if answer.raw is not None:
        return []
    account, model = where or f"--rm_api_type {endpoint.api_type}", where or f"--rm_model {endpoint.model}"
    meaning = {
        "auth": f"{account}: {refusal_text(endpoint.api_type, endpoint.address, endpoint.api_key_env)}",
        "not_found": f"{model}: {endpoint.api_type} has no such model, or nothing answers at that URL",
        "quota": f"{account}: the account's quota or credit is used up",
        "no_verdict": f"{model}: it does not answer in the form that is asked for",
    }.get(answer.why, f"{where or f'the judge {endpoint}'} does not answer ({answer.why})")
    return [f"{meaning}: {' '.join(answer.reason.split())}"]


def _answers(judges: Sequence[JudgeConfig]) -> list[tuple[JudgeAnswer, float]]:
    """Ask each judge; return its answer, and the seconds that its request took."""

    async def ask() -> list[tuple[JudgeAnswer, float]]:
        # By turns: importing an SDK, for seconds, stops all others.
        return [await _ask_once(single) for single in judges]

    return asyncio.run(ask())


async def _ask_once(judge_config: JudgeConfig) -> tuple[JudgeAnswer, float]:
    """Ask about one small sum, past cache and budget, and without waiting long."""
    quick = dataclasses.replace(
        judge_config,
        attempts=min(3, judge_config.attempts),
        deadline=PROBE_SECONDS,
        timeout=min(PROBE_SECONDS, judge_config.timeout),
        cache="",
        money_budget=None,
        token_budget=None,
        on_failure="unscored",
    )
    gateway = Gateway(quick)
    try:
        answer = await gateway.ask(judge_config.prompts.question("1 + 1 = ?", "2", "2"))
        return answer, gateway.metrics.take()["judge/latency_p50_s"]
    finally:
        await gateway.close()


def forecast(settings: Settings, judge_config: JudgeConfig, samples: int | None) -> str:
    """Return in words about what judging ``samples`` responses takes: each of full length, none from the cache.

    A judge that writes more than a short verdict costs more, and so do retries of what was billed.
    """
    if samples is None:
        return f"{judge_config.endpoints[0]}; the number of calls depends on the data"
    tokens_per_answer = settings.integer("MAX_PROMPT_LENGTH") + settings.integer("MAX_RESPONSE_LENGTH")
    empty = judge_config.prompts.question("", "", "")
    into = samples * (budget.tokens_of(empty.system + empty.user) + tokens_per_answer)
    spent = judge_config.cost(judge_config.endpoints[0], into, samples * USUAL_OUTPUT)
    price = judge_config.price(judge_config.endpoints[0])
    text = f"about {samples:,} calls and {(into + spent.output_tokens) / 1e6:.2f} million tokens"
    text += f", about US$ {spent.money:.2f}" if price else f" (no price for {judge_config.model} in config/{FILE.name})"
    share = max(
        spent.money / judge_config.money_budget if judge_config.money_budget else 0.0,
        (into + spent.output_tokens) / judge_config.token_budget if judge_config.token_budget else 0.0,
    )
    if share > 1:
        text += f"; the budget may end after {1 / share:.0%} of them"
    return text


def samples(settings: Settings, steps: int | None, held_out: int) -> int | None:
    """Return how many responses a run of ``steps`` steps has to score, validations included."""
    if steps is None:
        return None
    every = settings.integer("TEST_FREQ")
    validations = 1 + -(-steps // every) if every > 0 else 0
    return steps * settings.integer("BATCH_SIZE") * settings.integer("ROLLOUT_N") + validations * held_out

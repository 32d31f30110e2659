"""How to judge: ``config/api_reward_config.yaml`` and the ``--rm_...`` flags, as one checked, frozen value."""

import dataclasses
import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reward.judge.gateway.cache import Spent
from reward.judge.keys import OWN_KEY, is_same_server, wrong_name, wrong_url
from reward.judge.prompts import presets, question
from reward.judge.prompts.question import Prompts
from reward.judge.providers import PROVIDERS, Endpoint, faults_of_key
from reward.support import json_text, yaml_file

CHOICES = {
    "language": ("auto", *presets.LANGUAGES),
    "prompt_preset": ("", *presets.NAMES),
    "structured": ("auto", "on", "off"),
    "on_failure": ("unscored", "wait", "raise"),
    "at_limit": ("stop", "continue"),
}
# Number -> least value, whether it is whole, whether null is allowed (no limit).
NUMBERS = {
    **dict.fromkeys(("max_tokens", "concurrency", "attempts", "response_chars", "breaker_after"), (1, True, False)),
    **dict.fromkeys(("requests_per_minute", "tokens_per_minute", "token_budget"), (1, False, True)),
    **dict.fromkeys(("timeout", "deadline", "wait_limit", "breaker_seconds"), (0.001, False, False)),
    **dict.fromkeys(("hedge_after", "money_budget"), (0.001, False, True)),
    "temperature": (0, False, True),
}
# Field -> flag of ``./train.sh``.
FLAGS = {
    **{name: f"--rm_{name}" for name in ("api_type", "model", "base_url", "prompt_preset", "system_prompt")},
    **{name: f"--rm_{name}" for name in ("scoring_prompt", "scale", "language", "concurrency", "on_failure")},
    "money_budget": "--rm_budget",
}
TEXTS = ("api_type", "model", "base_url", "api_key_env", "system_prompt", "scoring_prompt", "scale", "cache")


class ConfigError(ValueError):
    """What a person can mend, one line a fault."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


@dataclass(frozen=True)
class Price:
    """Money for a million tokens, in whatever currency the budget is in."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost."""
        return (self.input * input_tokens + self.output * output_tokens) / 1e6


@dataclass(frozen=True)
class JudgeConfig:
    """Everything about the judge; the comments are in ``config/api_reward_config.yaml``. Times are in seconds."""

    api_type: str = "dashscope"
    model: str = "qwen-plus"
    base_url: str = ""
    api_key_env: str = OWN_KEY
    fallback: tuple[Endpoint, ...] = ()
    prompt_preset: str = ""
    language: str = "auto"
    system_prompt: str = ""
    scoring_prompt: str = ""
    scale: str = ""
    response_chars: int = 24_000
    structured: str = "auto"
    temperature: float | None = 0.0
    max_tokens: int = 512
    concurrency: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 60.0
    deadline: float = 300.0
    attempts: int = 6
    hedge_after: float | None = None
    breaker_after: int = 20
    breaker_seconds: float = 5.0
    on_failure: str = "unscored"
    wait_limit: float = 1_800.0
    money_budget: float | None = None
    token_budget: float | None = None
    at_limit: str = "stop"
    prices: Mapping[str, Price] = field(default_factory=dict)
    cache: str = ""
    run: str = ""  # whose spending counts towards the budget
    resumed: str = ""  # the run that it goes on from, whose spending counts too

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The judge, and those to ask when it fails, in order."""
        first = Endpoint(self.api_type, self.model, self.base_url, self.api_key_env)
        return (first, *(_with_key_of(first, each) for each in self.fallback))

    @property
    def prompts(self) -> Prompts:
        """How questions are made."""
        return Prompts(
            self.prompt_preset or "general",
            self.language,
            self.system_prompt,
            self.scoring_prompt,
            presets.scale_of(self.scale) if self.scale else None,
            self.response_chars,
        )

    def only(self, endpoint: Endpoint) -> "JudgeConfig":
        """Return the same with ``endpoint`` alone."""
        return dataclasses.replace(self, **dataclasses.asdict(endpoint), fallback=())

    def price(self, endpoint: Endpoint) -> Price | None:
        """Return the price of an endpoint's model, if the table has it."""
        return self.prices.get(endpoint.model)

    def cost(self, endpoint: Endpoint, input_tokens: int, output_tokens: int) -> Spent:
        """Return what one request was."""
        price = self.price(endpoint)
        money = price.of(input_tokens, output_tokens) if price else 0.0
        return Spent(1, input_tokens, output_tokens, money)

    def to_json(self) -> str:
        """Return the whole as JSON that passes through the engine's YAML files."""
        return json_text.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "JudgeConfig":
        """Read what ``to_json`` wrote."""
        found = json.loads(text)
        found["fallback"] = tuple(Endpoint(**each) for each in found.get("fallback", ()))
        found["prices"] = {name: Price(**each) for name, each in found.get("prices", {}).items()}
        return cls(**found)


def _with_key_of(first: Endpoint, other: Endpoint) -> Endpoint:
    """Return a fallback with the first one's key where it is on the same server and names none."""
    if other.api_key_env or not is_same_server(first.address, other.address):
        return other
    return dataclasses.replace(other, api_key_env=first.api_key_env)


def load(file: Path, flags: Mapping[str, Any]) -> JudgeConfig:
    """Return ``file`` with ``flags`` (fields of ``JudgeConfig``, keys of ``FLAGS``) over it, checked.

    Keys and prices are not looked at (``key_faults``, ``unpriced``). Where neither names a cache it is ``auto``: the
    caller says where that is.

    Raises:
        ConfigError: with every fault, one line each.
    """
    values = read(file)
    if flags.get("api_type", values.get("api_type")) != values.get("api_type"):  # another provider's are of no use
        values = {name: value for name, value in values.items() if name not in ("model", "base_url", "api_key_env")}
    if values.get("base_url") and "base_url" in flags and not is_same_server(values["base_url"], flags["base_url"]):
        values.pop("api_key_env", None)
    labels = {name: f"config/{file.name}: {name}" for name in values} | {name: FLAGS[name] for name in flags}
    values = {"cache": "auto", **values, **flags}
    given = {name: value for name, value in values.items() if name not in ("fallback", "prices")}
    faults = [f"{labels.get(name, name)}: {said}" for name, value in given.items() for said in _wrong(name, value)]
    fallback, of_fallback = _fallback(values.get("fallback") or [], file)
    prices, of_prices = _prices(values.get("prices") or {}, file)
    faults += of_fallback + of_prices
    if faults:
        raise ConfigError(*faults)
    found = JudgeConfig(**given, fallback=fallback, prices=prices)
    faults = _together(found, labels)
    if faults:
        raise ConfigError(*faults)
    return found


def read(file: Path) -> dict[str, Any]:
    """Return the file as it is.

    Raises:
        ConfigError: it cannot be read, or has a key that there is not.
    """
    if not file.exists():
        return {}
    try:
        found = yaml_file.read(file)
    except yaml_file.YamlFileError as error:
        raise ConfigError(f"config/{file.name}: not readable: {error}") from None
    known = {each.name for each in dataclasses.fields(JudgeConfig)} - {"run", "resumed"}
    faults = []
    for name in found.keys() - known:
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
        faults.append(f"config/{file.name}: there is no {name}; {hint}")
    if faults:
        raise ConfigError(*faults)
    if "model" not in found and found.get("api_type", "dashscope") in PROVIDERS.keys() - {"dashscope"}:
        found["model"] = ""
    return found


def _wrong(name: str, value: Any) -> list[str]:
    """Return what is wrong with one value."""
    if name in CHOICES and value not in CHOICES[name]:
        return [f"{value!r}: allowed: {', '.join(filter(None, CHOICES[name]))}"]
    if name in NUMBERS:
        least, whole, nothing = NUMBERS[name]
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not (value is None and nothing) and not (number and least <= value < math.inf):
            kind = "a whole number" if whole else "a number"
            return [f"{value!r}: {kind} of {least:g} or more is wanted" + ", or null for none" * nothing]
    if name in TEXTS and not isinstance(value, str):
        return [f"{value!r}: a text is wanted" + ", in quotes" * isinstance(value, int | float)]
    if name == "api_type" and value not in PROVIDERS:
        return [f"there is no provider {value!r}; there are {', '.join(PROVIDERS)}"]
    if name == "model" and not value.strip():
        return ["which one? a name of the provider's is wanted"]
    if name == "base_url":
        return [said] if (said := wrong_url(value)) else []
    if name == "api_key_env":
        return [said] if (said := wrong_name(value)) else []
    if name == "scale" and value:
        try:
            presets.scale_of(value)
        except ValueError as error:
            return [str(error)]
    return []


def _fallback(given: Any, file: Path) -> tuple[tuple[Endpoint, ...], list[str]]:
    where = f"config/{file.name}: fallback"
    if not isinstance(given, list):
        return (), [f"{where}: a list of {{api_type: ..., model: ..., base_url: ...}} is wanted"]
    found, faults = [], []
    for number, each in enumerate(given):
        names = each.keys() if isinstance(each, dict) else set()
        if not {"api_type", "model"} <= names <= {"api_type", "model", "base_url", "api_key_env"}:
            faults.append(
                f"{where}[{number}]: {{api_type: ..., model: ..., base_url: ..., api_key_env: ...}} is wanted"
            )
            continue
        faults += [f"{where}[{number}].{name}: {said}" for name in each for said in _wrong(name, each[name])]
        found.append(Endpoint(**each))
    return tuple(found), faults


def _prices(given: Any, file: Path) -> tuple[dict[str, Price], list[str]]:
    where = f"config/{file.name}: prices"
    if not isinstance(given, dict):
        return {}, [f"{where}: MODEL: [input, output] lines are wanted"]
    found, faults = {}, []
    for model, pair in given.items():
        fine = isinstance(pair, list) and len(pair) == 2 and not any(_wrong("temperature", each) for each in pair)
        if not fine or None in pair:
            faults.append(f"{where}.{model}: [input, output] is wanted, money for a million tokens")
        else:
            found[str(model)] = Price(float(pair[0]), float(pair[1]))
    return found, faults


def _together(config: JudgeConfig, labels: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the whole."""
    faults = []
    if config.scoring_prompt:
        faults += question.faults(labels["scoring_prompt"], config.scoring_prompt)
    if config.timeout > config.deadline:
        faults.append(f"timeout {config.timeout:g} is more than deadline {config.deadline:g}, which it is a part of")
    return faults


def unpriced(config: JudgeConfig) -> list[str]:
    """Return which models have no price, where there is a budget of money."""
    if config.money_budget is None:
        return []
    return [
        f"money_budget {config.money_budget:g}: there is no price for {endpoint.model}; add "
        f"'{endpoint.model}: [input, output]' to prices in config/api_reward_config.yaml"
        for endpoint in config.endpoints
        if config.price(endpoint) is None
    ]


def key_faults(config: JudgeConfig) -> list[str]:
    """Return what is wrong with the keys in the environment, without any of them."""
    return [fault for endpoint in config.endpoints for fault in faults_of_key(endpoint)]

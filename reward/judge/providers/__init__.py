"""The providers: messages in, text and usage out, through each one's official SDK."""

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from reward.judge.failures import Failure


@dataclass(frozen=True)
class Endpoint:
    """A model, where it is asked, and whose SDK asks it."""

    api_type: str
    model: str
    base_url: str = ""  # empty: the provider's own

    @property
    def address(self) -> str:
        """Where it is asked: its own URL, or that of the SDK's env var; empty for the provider's own."""
        return self.base_url or os.environ.get(PROVIDERS[self.api_type].base_url_env, "")

    def __str__(self) -> str:
        return f"{self.model} at {self.base_url or self.api_type}"


@dataclass(frozen=True)
class Request:
    """One question; None leaves an option to the provider."""

    system: str
    user: str
    max_tokens: int
    temperature: float | None = 0.0
    schema: Mapping[str, Any] | None = None  # JSON schema of the reply, where the provider can be held to one


@dataclass(frozen=True)
class Reply:
    """What came back, and the tokens that it cost."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


def used(usage: Any, into: str, *out: str) -> tuple[int, int]:
    """Return input and output tokens of a reply: counts by their names, in an object or mapping that may lack them."""
    found = usage if isinstance(usage, Mapping) else getattr(usage, "__dict__", {})
    counts = [max(0, value) if isinstance(value := found.get(name), int) else 0 for name in (into, *out)]
    return counts[0], sum(counts[1:])


class Provider(Protocol):
    """An adapter of one SDK. For one event loop, which it is made in."""

    def __init__(self, endpoint: Endpoint, key: str, timeout: float, in_flight: int) -> None:
        """Make the client: ``timeout`` in seconds for one request, at most ``in_flight`` connections."""

    async def ask(self, request: Request) -> Reply:
        """Ask once.

        Raises:
            Failure: there is no reply that could hold a verdict.
        """

    async def close(self) -> None:
        """Close all connections."""


@dataclass(frozen=True)
class Known:
    """What is known of a provider before its SDK is imported, which takes seconds."""

    adapter: str  # module:class
    keys: tuple[str, ...]  # env vars, the first one that is set counts
    models: tuple[str, ...]  # examples
    base_url_env: str  # env var of the provider's SDK for another address


HERE = "reward.judge.providers"
PROVIDERS = {
    "dashscope": Known(
        f"{HERE}.dashscope:Dashscope", ("DASHSCOPE_API_KEY",), ("qwen-plus", "qwen-max"), "DASHSCOPE_HTTP_BASE_URL"
    ),
    "openai": Known(f"{HERE}.openai:OpenAI", ("OPENAI_API_KEY",), ("gpt-4o-mini", "gpt-4o"), "OPENAI_BASE_URL"),
    "gemini": Known(
        f"{HERE}.gemini:Gemini",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("gemini-1.5-flash", "gemini-1.5-pro"),
        "GOOGLE_GEMINI_BASE_URL",
    ),
    "claude": Known(
        f"{HERE}.claude:Claude",
        ("ANTHROPIC_API_KEY", "CLAUDE_API_KEY"),
        ("claude-3-haiku-20240307", "claude-3-sonnet-20240229"),
        "ANTHROPIC_BASE_URL",
    ),
}
NO_KEY = "none"  # what a server of one's own is sent where it has no key


def key_of(endpoint: Endpoint) -> str:
    """Return the endpoint's key out of the environment; empty where none is set."""
    found = next((os.environ[name] for name in PROVIDERS[endpoint.api_type].keys if os.environ.get(name)), "")
    return found.strip() or (NO_KEY if endpoint.address else "")


def faults_of_key(endpoint: Endpoint) -> list[str]:
    """Return what is wrong with the endpoint's key, without the key."""
    names = PROVIDERS[endpoint.api_type].keys
    key = key_of(endpoint)
    if not key:
        return [f"{endpoint}: no key; looked for {' and '.join(names)} in the environment: export {names[0]}=..."]
    if not (key.isascii() and key.isprintable()) or " " in key:
        name = next(name for name in names if os.environ.get(name))
        return [f"{name}: the key holds a blank, a line break or a letter that no key has; export it anew"]
    return []


def connect(endpoint: Endpoint, timeout: float, in_flight: int) -> Provider:
    """Return the adapter of ``endpoint``, with the key of the environment.

    Raises:
        Failure: there is no key.
    """
    wrong = faults_of_key(endpoint)
    if wrong:
        raise Failure("auth", wrong[0])
    module, _, name = PROVIDERS[endpoint.api_type].adapter.partition(":")
    adapter = getattr(importlib.import_module(module), name)
    made: Provider = adapter(endpoint, key_of(endpoint), timeout, in_flight)
    return made

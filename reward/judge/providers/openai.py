"""OpenAI, and every server that speaks its protocol: vLLM, SGLang, Ollama, LiteLLM, ..."""

import asyncio
from typing import Any

import aiohttp
import openai
from httpx2 import Limits
from openai import AsyncOpenAI, DefaultAioHttpClient

from reward.judge.failures import Failure, of_status, retry_after
from reward.judge.providers import Endpoint, Reply, Request, used


class OpenAI:
    """Chat completions. The client is the SDK's on aiohttp: half the CPU time a call of its default."""

    def __init__(self, endpoint: Endpoint, key: str, timeout: float, in_flight: int) -> None:
        self.model = endpoint.model
        base_url = endpoint.address or None
        # Servers of one's own know max_tokens, the newest models of OpenAI only the other.
        self.max_tokens = "max_tokens" if base_url else "max_completion_tokens"
        http = DefaultAioHttpClient(limits=Limits(max_connections=in_flight, max_keepalive_connections=in_flight))
        self.client = AsyncOpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=0, http_client=http)

    async def ask(self, request: Request) -> Reply:
        """Ask once; see ``Provider``."""
        options: dict[str, Any] = {self.max_tokens: request.max_tokens}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.schema is not None:
            schema = {"name": "verdict", "strict": True, "schema": request.schema}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        messages: Any = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
        try:
            found = await self.client.chat.completions.create(model=self.model, messages=messages, **options)
        except openai.APITimeoutError as error:
            raise _late_or_cut(error) from None
        except openai.APIStatusError as error:
            said, code = error.message, error.code or error.type
            raise of_status(error.status_code, said, code, retry_after(error.response.headers)) from None
        except openai.APIConnectionError as error:
            raise Failure("connection", f"{error.message} ({error.__cause__})") from None
        except (openai.OpenAIError, ValueError) as error:
            raise Failure("bad_reply", f"{type(error).__name__}: {error}") from None
        return _reply(found)

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()


def _late_or_cut(error: BaseException) -> Failure:
    """Tell a time-out from a refused or lost connection, which the SDK's aiohttp client calls a time-out too."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, asyncio.TimeoutError):
            return Failure("connection", f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__
    return Failure("timeout", "no reply in time")


def _reply(found: Any) -> Reply:
    """Return the text of a completion; the SDK checks no field of it."""
    tokens = used(getattr(found, "usage", None), "prompt_tokens", "completion_tokens")
    choices: Any = getattr(found, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        raise Failure("bad_reply", "a completion without choices", used=tokens)
    if getattr(message, "refusal", None):
        raise Failure("refused", str(message.refusal), used=tokens)
    ended = choices[0].finish_reason
    text = message.content or ""
    if ended == "content_filter":
        raise Failure("filtered", "the reply was cut by the content filter", used=tokens)
    if not text:
        kind = "truncated" if ended == "length" else "bad_reply"
        raise Failure(kind, f"a choice without text ({ended})", used=tokens)
    return Reply(text, *tokens)

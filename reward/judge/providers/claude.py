"""Anthropic's Claude."""

from typing import Any

import anthropic
from anthropic import AsyncAnthropic, DefaultAioHttpClient
from httpx2 import Limits

from reward.judge.failures import Failure, of_status, retry_after
from reward.judge.providers import Endpoint, Reply, Request, used


class Claude:
    """Messages. A temperature goes into the body by hand: the SDK has no argument for it any more."""

    def __init__(self, endpoint: Endpoint, key: str, timeout: float, in_flight: int) -> None:
        self.model = endpoint.model
        base_url = endpoint.address or None
        http = DefaultAioHttpClient(limits=Limits(max_connections=in_flight, max_keepalive_connections=in_flight))
        self.client = AsyncAnthropic(api_key=key, base_url=base_url, timeout=timeout, max_retries=0, http_client=http)

    async def ask(self, request: Request) -> Reply:
        """Ask once; see ``Provider``."""
        options: dict[str, Any] = {}
        if request.temperature is not None:
            options["extra_body"] = {"temperature": request.temperature}
        if request.schema is not None:
            options["output_config"] = {"format": {"type": "json_schema", "schema": request.schema}}
        try:
            found = await self.client.messages.create(
                model=self.model,
                system=request.system,
                messages=[{"role": "user", "content": request.user}],
                max_tokens=request.max_tokens,
                **options,
            )
        except anthropic.APITimeoutError:
            raise Failure("timeout", "no reply in time") from None
        except anthropic.APIStatusError as error:
            inner: Any = error.body.get("error") if isinstance(error.body, dict) else None
            inner = inner if isinstance(inner, dict) else {}
            said, code = str(inner.get("message", error.message)), inner.get("type", "")
            raise of_status(error.status_code, said, code, retry_after(error.response.headers)) from None
        except anthropic.APIConnectionError as error:
            raise Failure("connection", f"{error.message} ({error.__cause__})") from None
        except (anthropic.AnthropicError, ValueError) as error:
            raise Failure("bad_reply", f"{type(error).__name__}: {error}") from None
        return _reply(found)

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()


def _reply(found: Any) -> Reply:
    """Return the text of a message; the SDK checks no field of it."""
    tokens = used(getattr(found, "usage", None), "input_tokens", "output_tokens")
    blocks = getattr(found, "content", None)
    if not isinstance(blocks, list):
        raise Failure("bad_reply", "a message without content", used=tokens)
    if found.stop_reason == "refusal":
        raise Failure("refused", "the model declined to answer", used=tokens)
    text = "".join(getattr(block, "text", None) or "" for block in blocks)
    if not text:
        kind = "truncated" if found.stop_reason == "max_tokens" else "bad_reply"
        raise Failure(kind, "a message without text", used=tokens)
    return Reply(text, *tokens)

"""Alibaba Cloud's DashScope (Model Studio, Bailian): the Qwen models."""

import asyncio
import json
import logging
from typing import Any

import aiohttp
from dashscope import AioGeneration

from reward.judge.failures import Failure, of_status, retry_after
from reward.judge.providers import Endpoint, Reply, Request, used

logging.getLogger("dashscope").setLevel(logging.CRITICAL)  # it prints a traceback for each failure, which we tell


async def one_try(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send once: the SDK would send again after a dropped connection, and maps some statuses to others.

    Raises:
        Failure: there is no connection, or a status other than 200.
    """
    try:
        response = await send(request)
        if response.status == 200:
            return response
        async with response:
            body = await response.text(errors="replace")
    except aiohttp.ServerTimeoutError:
        raise Failure("timeout", "no reply in time") from None
    except aiohttp.ClientError as error:
        raise Failure("connection", f"{type(error).__name__}: {error}") from None
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    found = found if isinstance(found, dict) else {"message": body}
    wait = retry_after(response.headers)
    raise of_status(response.status, str(found.get("message", body)), found.get("code"), wait)


class Dashscope:
    """Text generation. Without its own session the SDK has one for the whole process, of 100 connections."""

    def __init__(self, endpoint: Endpoint, key: str, timeout: float, in_flight: int) -> None:
        self.endpoint, self.key, self.timeout = endpoint, key, timeout
        connector = aiohttp.TCPConnector(limit=in_flight)
        self.session = aiohttp.ClientSession(connector=connector, trust_env=True, middlewares=(one_try,))

    async def ask(self, request: Request) -> Reply:
        """Ask once; see ``Provider``."""
        options: dict[str, Any] = {}
        if self.endpoint.address:
            options["base_address"] = self.endpoint.address
        messages: Any = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
        if request.schema is not None:
            options["response_format"] = {"type": "json_object"}
        try:
            found = await AioGeneration.call(
                model=self.endpoint.model,
                api_key=self.key,
                messages=messages,
                result_format="message",
                temperature=request.temperature,
                max_tokens=request.max_tokens,
                request_timeout=self.timeout,
                session=self.session,
                **options,
            )
        except Failure:
            raise
        except asyncio.TimeoutError:
            raise Failure("timeout", "no reply in time") from None
        except aiohttp.ContentTypeError as error:
            raise Failure("bad_reply", f"a reply that is {error.message}") from None
        except aiohttp.ClientError as error:
            raise Failure("connection", f"{type(error).__name__}: {error}") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # the SDK checks no field of a reply
            raise Failure("bad_reply", f"{type(error).__name__}: {error}") from None
        return _reply(found)

    async def close(self) -> None:
        """Close all connections."""
        await self.session.close()


def _reply(found: Any) -> Reply:
    output, tokens = found.get("output") or {}, used(found.get("usage"), "input_tokens", "output_tokens")
    choices = output.get("choices") or [] if isinstance(output, dict) else []
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise Failure("bad_reply", "a generation without choices", used=tokens)
    text, ended = message.get("content") or "", choices[0].get("finish_reason")
    if not isinstance(text, str) or not text:
        kind = "truncated" if ended == "length" else "bad_reply"
        raise Failure(kind, f"a choice without text ({ended})", used=tokens)
    return Reply(text, *tokens)

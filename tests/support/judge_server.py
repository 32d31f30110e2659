"""A real HTTP server on loopback that speaks the four providers' wire protocols, with faults on demand.

``python -m tests.support.judge_server PORT [SHARE OF FAULTS] [LATENCY]`` serves until it is ended: a judge of sums that
any training run can ask, with ``--rm_api_type openai --rm_base_url http://127.0.0.1:PORT/v1``.
"""

import asyncio
import json
import random
import re
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "sk-loopback-0123456789abcdef"
ROUTES = {
    "openai": ("/v1", r"/v1/chat/completions"),
    "claude": ("", r"/v1/messages"),
    "gemini": ("", r"/{version}/models/{model}:generateContent"),
    "dashscope": ("/api/v1", r"/api/v1/services/aigc/text-generation/generation"),
}
# Fault -> status, for those that are an answer with a status.
STATUSES = {"429": 429, "429_after": 429, "408": 408, "409": 409, "500": 500, "502": 502, "503": 503, "529": 529}
STATUSES |= {"key": 401, "model": 404, "quota": 429, "bad_request": 400, "filter_400": 400}
MESSAGES = {
    "key": f"Incorrect API key provided: {KEY}. You can find your API key in your account.",
    "model": "The model does not exist or you do not have access to it.",
    "quota": "You exceeded your current quota.",
    "filter_400": "The input was flagged.",
}
CODES = {"key": "invalid_api_key", "model": "model_not_found", "quota": "insufficient_quota", "429": "rate_limit"}
CODES |= {"filter_400": "content_filter"}
DASHSCOPE_CODES = CODES | {"quota": "Arrearage", "filter_400": "DataInspectionFailed"}
RAW_FAULTS = ("reset", "reset_mid_body", "trickle", "timeout", "bad_json", "html")
ODD_FAULTS = ("empty", "no_text", "truncated", "refusal", "filter")
Brain = Callable[[str, str], str]
Wire = Callable[["Asked", web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Asked:
    """What a request held."""

    provider: str
    model: str
    system: str
    user: str
    key: str
    body: dict[str, Any]


@dataclass
class Script:
    """What the server does: who answers, what goes wrong, how long it takes."""

    brain: Brain
    fault: Callable[[Asked], str | None] = lambda asked: None
    latency: float = 0.0  # seconds
    retry_after: str = "1"
    hang: float = 30.0  # seconds of a time-out
    shape: Callable[[Any], Any] = lambda body: body  # what becomes of a good reply's body
    wire: Wire | None = None  # sends the reply in place of the server, given the body of a good one
    keep: bool = True  # what was asked, for the tests to look at
    asked: list[Asked] = field(default_factory=list)
    calls: int = 0
    most_at_once: int = 0
    at_once: int = 0


def _read(provider: str, request: web.Request, body: dict[str, Any]) -> Asked:
    if provider == "gemini":
        system = "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", []))
        user = "".join(part["text"] for turn in body["contents"] for part in turn["parts"])
        return Asked(provider, request.match_info["model"], system, user, request.headers["x-goog-api-key"], body)
    key = request.headers["Authorization"].removeprefix("Bearer ")
    if provider == "claude":
        return Asked(provider, body["model"], body.get("system", ""), body["messages"][0]["content"], key, body)
    messages = body["input"]["messages"] if provider == "dashscope" else body["messages"]
    texts = {message["role"]: message["content"] for message in messages}
    return Asked(provider, body["model"], texts["system"], texts["user"], key, body)


def _reply(provider: str, text: str | None, asked: Asked, ended: str = "") -> dict[str, Any]:
    """Return the body of a good answer; ``text`` None is one with no choice at all."""
    into, out = len(asked.system + asked.user) // 4, len(text or "") // 4
    none = text is None
    if provider == "openai":
        message = {"role": "assistant", "content": text, "refusal": "I cannot." if ended == "refusal" else None}
        reason = {"filter": "content_filter", "truncated": "length"}.get(ended, "stop")
        choices = [] if none else [{"index": 0, "finish_reason": reason, "message": message}]
        usage = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": asked.model, "choices": choices} | {
            "usage": usage
        }
    if provider == "claude":
        content = [] if none else [{"type": "text", "text": text}]
        reason = {"refusal": "refusal", "filter": "refusal", "truncated": "max_tokens"}.get(ended, "end_turn")
        usage = {"input_tokens": into, "output_tokens": out}
        head = {"id": "m", "type": "message", "role": "assistant", "model": asked.model}
        return head | {"content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}
    if provider == "gemini":
        usage = {"promptTokenCount": into, "candidatesTokenCount": out, "totalTokenCount": into + out}
        if ended == "refusal":
            return {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": usage}
        reason = {"filter": "SAFETY", "truncated": "MAX_TOKENS"}.get(ended, "STOP")
        content = {"role": "model", "parts": [{"text": text}]}
        candidates = [] if none else [{"content": content, "finishReason": reason, "index": 0}]
        return {"candidates": candidates, "usageMetadata": usage, "modelVersion": asked.model}
    message = {"role": "assistant", "content": text}
    reason = "length" if ended == "truncated" else "stop"
    choices = [] if none else [{"finish_reason": reason, "message": message}]
    usage = {"input_tokens": into, "output_tokens": out, "total_tokens": into + out}
    return {"output": {"text": None, "choices": choices}, "usage": usage, "request_id": "r"}


def _error(provider: str, fault: str) -> dict[str, Any]:
    status, said = STATUSES[fault], MESSAGES.get(fault, "try again later")
    if provider == "dashscope":
        return {"code": DASHSCOPE_CODES.get(fault, "InternalError"), "message": said, "request_id": "r"}
    if provider == "gemini":
        return {"error": {"code": status, "message": f"{said} {CODES.get(fault, '')}", "status": "X"}}
    if provider == "claude":
        return {"type": "error", "error": {"type": CODES.get(fault, "api_error"), "message": said}}
    return {"error": {"message": said, "type": "error", "param": None, "code": CODES.get(fault)}}


class JudgeServer:
    """The server, in a thread of its own; a context."""

    def __init__(self, brain: Brain, **options: Any) -> None:
        self.script = Script(brain, **options)
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def url(self, provider: str) -> str:
        """Return the base URL that the provider's SDK is given."""
        return f"http://127.0.0.1:{self.port}{ROUTES[provider][0]}"

    def flags(self, provider: str = "openai") -> tuple[str, ...]:
        """Return what ./train.sh is given to ask this server as ``provider``."""
        return ("--use_api_reward", "--rm_api_type", provider, "--rm_model", "m", "--rm_base_url", self.url(provider))

    def __enter__(self) -> "JudgeServer":
        self._thread.start()
        self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.start(self.port))
        self._ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    async def start(self, port: int) -> None:
        """Begin to serve in the running loop."""
        app = web.Application(client_max_size=1 << 26)
        for provider, (_, route) in ROUTES.items():
            app.router.add_post(route, self._handler(provider))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, backlog=1024)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]

    def _handler(self, provider: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            script = self.script
            asked = _read(provider, request, await request.json())
            script.calls += 1
            script.at_once += 1
            script.most_at_once = max(script.most_at_once, script.at_once)
            if script.keep:
                script.asked.append(asked)
            try:
                if script.latency:
                    await asyncio.sleep(script.latency)
                return await self._answer(request, asked, script.fault(asked))
            finally:
                script.at_once -= 1

        return handle

    async def _answer(self, request: web.Request, asked: Asked, fault: str | None) -> web.StreamResponse:
        provider, script = asked.provider, self.script
        if script.wire is not None:
            return await script.wire(asked, request, _reply(provider, script.brain(asked.system, asked.user), asked))
        if fault in STATUSES:
            headers = {"Retry-After": script.retry_after} if fault == "429_after" else {}
            return web.json_response(_error(provider, fault), status=STATUSES[fault], headers=headers)
        if fault in RAW_FAULTS:
            return await self._raw(request, asked, fault)
        if fault == "empty":
            return web.json_response(_reply(provider, None, asked))
        text = "" if fault in ("no_text", "truncated") else script.brain(asked.system, asked.user)
        return web.json_response(script.shape(_reply(provider, text, asked, fault or "")))

    async def _raw(self, request: web.Request, asked: Asked, fault: str) -> web.StreamResponse:
        good = json.dumps(_reply(asked.provider, self.script.brain(asked.system, asked.user), asked))
        if fault == "timeout":
            await asyncio.sleep(self.script.hang)
            return web.Response(text=good, content_type="application/json")
        if fault == "bad_json":
            return web.Response(text=good[: len(good) // 2], content_type="application/json")
        if fault == "html":
            return web.Response(text="<html>504 Gateway</html>", content_type="text/html")
        if fault == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(good))})
        await response.prepare(request)
        if fault == "reset_mid_body":
            await response.write(good[:40].encode())
            assert request.transport is not None
            request.transport.abort()
            return response
        for at in range(0, len(good), 8):  # trickle: each read is in time, the whole is not
            await response.write(good[at : at + 8].encode())
            await asyncio.sleep(self.script.hang / 40)
        return response


def material(user: str, name: str) -> str:
    """Return what stands between the markers of ``name`` in a message, unquoted."""
    code = user.splitlines()[0].split()[-1]
    match = re.search(rf"^BEGIN {name} {code}\n(.*?)\nEND {name} {code}$", user, re.S | re.M)
    return "\n".join(line.removeprefix("| ") for line in match[1].split("\n")) if match else ""


def outside(user: str) -> str:
    """Return what a message says outside of all marked material: what the weakest judge obeys."""
    code = user.splitlines()[0].split()[-1]
    return re.sub(rf"^BEGIN \w+ {code}\n.*?\nEND \w+ {code}$", "", user, flags=re.S | re.M)


def verdict(score: float, reason: str = "because") -> str:
    """Return a reply as it is asked for."""
    return json.dumps({"reason": reason, "score": score})


def judge_of_sums(system: str, user: str) -> str:
    """Judge whether the response's last number is the reference answer, as a perfect judge would."""
    numbers = re.findall(r"-?\d+", material(user, "RESPONSE"))
    right = bool(numbers) and numbers[-1] == material(user, "REFERENCE").strip()
    return verdict(10 if right else 1)


async def serve_forever(port: int, share: float = 0.0, latency: float = 0.0) -> None:
    """Serve sums after ``latency`` seconds each; a ``share`` of the requests meets a fault that passes."""
    faults = ("429", "500", "503", "529", "reset", "bad_json", "empty")
    chance = random.Random(0)

    def fault(_: Asked) -> str | None:
        return chance.choice(faults) if chance.random() < share else None

    server = JudgeServer(judge_of_sums, fault=fault, latency=latency, keep=False)
    await server.start(port)
    print(f"judging sums at {server.url('openai')}", flush=True)
    while True:
        await asyncio.sleep(10)
        print(f"{server.script.calls} calls, {server.script.most_at_once} at once at most", flush=True)


if __name__ == "__main__":
    asyncio.run(serve_forever(int(sys.argv[1]), *map(float, sys.argv[2:4])))

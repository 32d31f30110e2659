"""The four providers through their real SDKs, against a server that speaks their protocols and fails on demand."""

import asyncio
import json
import logging
import threading
import time
from typing import Any

import pytest
from aiohttp import web

from reward.judge import failures
from reward.judge.failures import RequestFailure
from reward.judge.providers import PROVIDERS, Endpoint, JudgeRequest, Reply, connect, faults_of_key
from reward.judge.verdict import schema
from tests.attacks.judge_modes import KEPT
from tests.support.judge_server import KEY, Asked, JudgeServer, verdict

NAMES = list(PROVIDERS)
OTHERS_KEY = "sk-of-the-provider-alone-0123456789"
REQUEST = JudgeRequest("You judge.", "How good?", max_tokens=64, schema=schema())


@pytest.fixture(autouse=True)
def keys(monkeypatch) -> None:
    for known in PROVIDERS.values():
        monkeypatch.delenv(known.base_url_env, raising=False)
        for name in known.keys:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(known.keys[0], OTHERS_KEY)
    monkeypatch.setenv("JUDGE_API_KEY", KEY)


async def ask(server: JudgeServer, name: str, request: JudgeRequest = REQUEST, timeout: float = 5.0) -> Reply:
    provider = connect(Endpoint(name, "a-model", server.url(name), "JUDGE_API_KEY"), timeout, 4)
    try:
        return await asyncio.wait_for(provider.ask(request), timeout)
    except asyncio.TimeoutError:
        raise RequestFailure("timeout", "the whole took too long") from None
    finally:
        await provider.close()


def failure(name: str, fault: str, timeout: float = 5.0, **options: object) -> tuple[RequestFailure, JudgeServer]:
    with JudgeServer(lambda *_: verdict(7), fault=lambda _: fault, **options) as server:
        with pytest.raises(RequestFailure) as caught:
            asyncio.run(ask(server, name, timeout=timeout))
        return caught.value, server


@pytest.mark.parametrize("name", NAMES)
def test_a_question_arrives_and_its_answer_comes_back(name) -> None:
    with JudgeServer(lambda *_: verdict(7, "gut, 好, \u2028 {x}")) as server:
        reply = asyncio.run(ask(server, name))
    asked = server.script.asked[0]
    assert (asked.system, asked.user, asked.key, asked.model) == (REQUEST.system, REQUEST.user, KEY, "a-model")
    assert reply.text == verdict(7, "gut, 好, \u2028 {x}")
    assert reply.input_tokens == 4
    assert reply.output_tokens > 0


def test_options_reach_each_protocol_under_its_own_name() -> None:
    bodies = {}
    with JudgeServer(lambda *_: verdict(7)) as server:
        for name in NAMES:
            asyncio.run(ask(server, name))
            bodies[name] = server.script.asked[-1].body
    openai, claude, gemini, dashscope = (bodies[name] for name in ("openai", "claude", "gemini", "dashscope"))
    assert (openai["max_tokens"], openai["temperature"]) == (64, 0.0)
    assert openai["response_format"]["json_schema"]["schema"] == schema()
    assert (claude["max_tokens"], claude["temperature"]) == (64, 0.0)
    assert claude["output_config"]["format"]["schema"] == schema()
    assert gemini["generationConfig"]["maxOutputTokens"] == 64
    assert gemini["generationConfig"]["responseJsonSchema"] == schema()
    assert dashscope["parameters"]["max_tokens"] == 64
    assert dashscope["parameters"]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        *(("429", "rate_limited"), ("408", "timeout"), ("409", "conflict")),
        *((status, "server_error") for status in ("500", "502", "503", "529")),
        *(("key", "auth"), ("model", "not_found"), ("quota", "quota"), ("bad_request", "bad_request")),
        *(("filter_400", "filtered"), ("bad_json", "bad_reply"), ("html", "bad_reply")),
        *(("empty", "bad_reply"), ("no_text", "bad_reply"), ("reset", "connection"), ("reset_mid_body", "connection")),
    ],
)
def test_each_fault_has_one_name_and_is_met_by_one_request(name, fault, kind) -> None:
    found, server = failure(name, fault)
    assert found.kind == kind
    assert server.script.calls == 1
    assert KEY not in str(found) + repr(found)
    assert found.__cause__ is None


@pytest.mark.parametrize("name", [name for name in NAMES if name != "dashscope"])  # whose inspection answers with a 400
@pytest.mark.parametrize(
    ("fault", "kinds"), [("refusal", ("refused", "filtered")), ("filter", ("filtered", "refused"))]
)
def test_a_refusal_is_no_fault_to_retry(name, fault, kinds) -> None:
    found, server = failure(name, fault)
    assert found.kind in kinds
    assert found.kind not in failures.RETRIED
    assert server.script.calls == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["timeout", "trickle"])
def test_a_slow_answer_ends_at_the_time_limit(name, fault) -> None:
    started = time.monotonic()
    found, server = failure(name, fault, timeout=0.5, hang=20.0)
    assert found.kind == "timeout"
    assert server.script.calls == 1
    assert time.monotonic() - started < 15  # of the 20 s that the server takes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("header", "seconds"), [("17", 17.0), ("0.5", 0.5), ("soon", None)])
def test_retry_after_is_told_and_not_slept(name, header, seconds) -> None:
    found, _ = failure(name, "429_after", retry_after=header)
    assert (found.kind, found.retry_after) == ("rate_limited", seconds)


def test_retry_after_as_a_date_and_in_googles_body() -> None:
    assert failures.retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert failures.retry_after({"retry-after-ms": "1500"}) == 1.5
    assert failures.retry_after({}, {"error": {"details": [{"retryDelay": "17s"}]}}) == 17.0
    assert failures.retry_after({}) is None


@pytest.mark.parametrize("name", NAMES)
def test_nobody_there(name) -> None:
    with JudgeServer(lambda *_: "") as server:
        pass
    with pytest.raises(RequestFailure) as caught:
        asyncio.run(ask(server, name))
    assert caught.value.kind == "connection"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("behind", [b"", KEPT + b"@@", b"{}"], ids=["its end", "another reply", "bytes"])
@pytest.mark.parametrize("in_time", [True, False], ids=["seen by the loop", "not yet"])
def test_a_kept_connection_with_something_to_read_is_not_used(name, behind, in_time) -> None:
    """Its end would cost an attempt, and another reply would be the verdict on another response."""
    sent, seen, tasks = threading.Event(), [], []

    async def wire(_: Asked, request: web.Request, good: dict[str, Any]) -> web.StreamResponse:
        seen.append(request.transport)
        if len(seen) == 1:
            other = json.dumps(good).replace("7", "10").encode()
            tasks.append(asyncio.ensure_future(later(request.transport, other)))
        return web.json_response(good)

    async def later(transport: Any, other: bytes) -> None:
        await asyncio.sleep(0.1)
        transport.write(behind.replace(b"@@", b"Content-Length: %d\r\n\r\n" % len(other) + other))
        if not behind:
            transport.close()
        await asyncio.sleep(0.1)
        sent.set()

    async def work(server: JudgeServer) -> list[str]:
        provider = connect(Endpoint(name, "a-model", server.url(name), "JUDGE_API_KEY"), 5.0, 4)
        try:
            first = await provider.ask(REQUEST)
            while in_time and not sent.is_set():
                await asyncio.sleep(0.01)
            sent.wait(10)  # the loop stands still
            return [first.text, *[(await provider.ask(REQUEST)).text for _ in range(2)]]
        finally:
            await provider.close()

    with JudgeServer(lambda *_: verdict(7), wire=wire) as server:
        assert asyncio.run(work(server)) == [verdict(7)] * 3
    assert seen[0] is not seen[1]
    assert seen[1] is seen[2]  # a connection that is silent is kept


@pytest.mark.parametrize("name", NAMES)
def test_without_a_key_the_variables_are_named(name, monkeypatch) -> None:
    for env in PROVIDERS[name].keys:
        monkeypatch.delenv(env, raising=False)
    (fault,) = faults_of_key(Endpoint(name, "m"))
    assert all(env in fault for env in PROVIDERS[name].keys)
    monkeypatch.setenv(PROVIDERS[name].keys[-1], KEY)
    assert faults_of_key(Endpoint(name, "m")) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_first_key_is_taken_and_the_sdk_says_nothing(name, monkeypatch, caplog) -> None:
    """Neither of another key in the environment, nor of a failure, which the kit tells in its own words."""
    for number, env in enumerate(PROVIDERS[name].keys):
        monkeypatch.setenv(env, f"{number}-another-key-0123456789")
    assert Endpoint(name, "m").key.value.startswith("0-another")
    faults = iter([None, "500", "reset", "bad_json"])
    with JudgeServer(lambda *_: verdict(3), fault=lambda _: next(faults)) as server:
        asyncio.run(ask(server, name))
        for _ in range(3):
            with pytest.raises(RequestFailure):
                asyncio.run(ask(server, name))
    assert server.script.asked[0].key == KEY
    assert [record.name for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_key_with_a_line_break_is_not_shown(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\nX")
    (fault,) = faults_of_key(Endpoint("openai", "m"))
    assert fault.startswith("OPENAI_API_KEY: the key holds")
    assert KEY not in fault


def test_a_server_of_ones_own_needs_no_key(monkeypatch) -> None:
    monkeypatch.delenv("JUDGE_API_KEY")
    with JudgeServer(lambda *_: verdict(3)) as server:
        assert asyncio.run(ask(server, "openai")).text == verdict(3)
    assert server.script.asked[0].key == "none"


def test_secrets_are_scrubbed_whoever_says_them(monkeypatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct horse battery")
    said = str(
        RequestFailure("auth", "bad: correct horse battery, sk-abcdefgh123, AIzaSyA1234567890, Bearer abc.def.ghi")
    )
    assert said == "auth: bad: ***, ***, ***, ***"

"""verl's own way to start an HTTP server, and who is answered."""

import asyncio
import http.client

import pytest
from fastapi import FastAPI
from verl.workers.rollout import utils

from reward.model.architectures.adapter import Encoded
from reward.model.serving.server import Server, headers
from reward.model.spec import RUN_KEY
from reward.support.errors import GraderFailed

STRANGERS = {
    "none": {},
    "another": {"Authorization": "Bearer " + "b" * 64},
    "a part": {"Authorization": "Bearer " + "a" * 63},
    "no scheme": {"Authorization": "a" * 64},
    "not ASCII": {"Authorization": "Bearer \xff"},
}


def status(port: int, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST" if path == "/classify" else "GET", path, body="{}", headers=headers)
    return connection.getresponse().status


async def asked(read: list[int]) -> tuple[float, dict[str, int]]:
    app = FastAPI()

    @app.post("/classify")
    def classify() -> dict[str, list[dict[str, list[float]]]]:
        read.append(1)
        return {"data": [{"probs": [0.5]}]}

    app.middleware_stack = app.build_middleware_stack()  # as vLLM hands it over: it has begun
    port, task = await utils.run_uvicorn(app, None, "127.0.0.1")
    paths = ("/classify", "/docs", "/nowhere")
    found = {
        f"{name} {path}": await asyncio.to_thread(status, port, path, headers)
        for name, headers in STRANGERS.items()
        for path in paths
    }
    assert not read
    server = Server(f"127.0.0.1:{port}", 10, 0, "", headers(RUN_KEY))
    score = await asyncio.to_thread(lambda: server.submit(Encoded((1, 2))).result(20))
    with pytest.raises(GraderFailed, match="401"):
        await asyncio.to_thread(lambda: Server(f"127.0.0.1:{port}", 10, 0).submit(Encoded((1, 2))).result(20))
    task.cancel()
    return score, found


def test_a_server_of_the_run_answers_who_has_its_key(monkeypatch) -> None:
    monkeypatch.setenv(RUN_KEY, "a" * 64)
    read: list[int] = []
    score, found = asyncio.run(asked(read))
    assert score == 0.5
    assert read == [1]
    assert set(found.values()) == {401}

"""A reward model behind HTTP: ``/classify`` or ``/pooling`` of vLLM, started by verl or running already.

A server that asks for a key gets that of ``KEY``, which stands in the environment and nowhere else.
"""

import asyncio
import atexit
import functools
import http.client
import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from reward.model.architectures.adapter import Encoded
from reward.model.errors import RewardModelError
from reward.support.errors import GraderFailed, GraderTimeout

CONNECTIONS = 256
PAUSE = 0.5  # seconds before the second try, doubled for each one after
LOOK = 10.0  # seconds for a server to tell what it serves
KEY = "RM_API_KEY"  # environment variable
REFUSED = (401, 403)


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """An event loop in a thread of its own: one pool of connections, whoever asks."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="reward-model-http", daemon=True).start()
    return loop


def endpoint(url: str) -> str:
    """Return where scores are asked for, of an address with or without its scheme and path."""
    address = url if "://" in url else f"http://{url}"
    return address if address.endswith(("/classify", "/pooling")) else f"{address.rstrip('/')}/classify"


def headers(name: str = KEY) -> dict[str, str]:
    """Return what tells a server who asks, with the key in ``name``; nothing where there is none."""
    key = os.environ.get(name, "").strip()
    return {"Authorization": f"Bearer {key}"} if key else {}


def _error_text(status: int, body: str) -> str:
    """Return an answer in words, in which the key is not, whatever the server echoes."""
    if status in REFUSED:
        return f"HTTP {status}: {_refusal()}"
    key = os.environ.get(KEY, "").strip()
    return f"HTTP {status}: {(body.replace(key, KEY) if key else body)[:200]}"


def _refusal() -> str:
    if headers():
        return f"the server refuses the key in {KEY}; export the one that it was started with"
    return f"the server asks for a key; export {KEY}"


class RewardModelServer:
    """Asks for one score a request, by token ids, so that the server's own template and BOS do not matter."""

    def __init__(
        self, url: str, timeout: float, retries: int, model: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """``timeout``: seconds for one try. ``retries``: further tries after a failed one."""
        self.url = endpoint(url)
        self.timeout, self.retries, self.model, self.headers = timeout, retries, model, headers
        self._session: Any = None
        atexit.register(self.close)

    def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            asyncio.run_coroutine_threadsafe(self._session.close(), _loop()).result(timeout=5)
            self._session = None

    def submit(self, encoded: Encoded) -> "Future[float]":
        """Return what will hold the score, or ``GraderFailed``."""
        return asyncio.run_coroutine_threadsafe(self._ask(list(encoded.ids)), _loop())

    async def _ask(self, ids: list[int]) -> float:
        """Ask, and ask again where another try may help: not where the request itself is refused (4xx)."""
        failed, late = "", False
        for attempt in range(self.retries + 1):
            if attempt:
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                status, body = await self._post(ids)
            except asyncio.TimeoutError:
                failed, late = f"no answer in {self.timeout:g} s", True
                continue
            except OSError as error:
                failed, late = f"{type(error).__name__}: {error}", False
                continue
            if status == 200:
                return scalar(body)
            failed, late = _error_text(status, body), False
            if 400 <= status < 500 and status not in (408, 429):
                break
        raise (GraderTimeout if late else GraderFailed)(f"{self.url}: {failed}")

    async def _post(self, ids: list[int]) -> tuple[int, str]:
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS)
            timeout = aiohttp.ClientTimeout(total=self.timeout)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=self.headers)
        payload: dict[str, Any] = {"input": ids, "use_activation": False}
        if self.model:
            payload["model"] = self.model
        if self.url.endswith("/pooling"):
            payload["task"] = "classify"
        try:
            async with self._session.post(self.url, json=payload, allow_redirects=False) as response:
                return response.status, await response.text()
        except asyncio.TimeoutError:
            raise
        except aiohttp.ClientError as error:  # the other side went away
            raise ConnectionError(str(error)) from error


def scalar(body: str) -> float:
    """Return the number in an answer of ``/classify`` (``probs``, which are raw here) or ``/pooling`` (``data``).

    Raises:
        GraderFailed: there is not exactly one.
    """
    try:
        item = json.loads(body)["data"][0]
        values = item.get("probs", item.get("data"))
        (value,) = values if isinstance(values, list) else [values]
        return float(value)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise GraderFailed(f"the reward model's server answers {body[:200]!r}; one number is wanted") from None


def served_model(url: str) -> str:
    """Return the name of the model that a running server serves, once it is known to score for whoever asks here.

    Raises:
        RewardModelError: nothing answers there, it refuses the key, or it is no server of a reward model.
    """
    scores = endpoint(url)
    base = scores.removesuffix("/classify").removesuffix("/pooling")
    what = f"--rm_url {url}"
    status, body = _look(f"{base}/v1/models", what)
    try:
        name = str(json.loads(body)["data"][0]["id"]) if status not in REFUSED else ""
    except (ValueError, LookupError, TypeError):
        raise RewardModelError(
            f"{what}: no list of models at {base}/v1/models ({_error_text(status, body)}); {START}"
        ) from None
    if status not in REFUSED:  # some guard only their scores
        status, body = _look(scores, what, {"model": name, "input": [0], "use_activation": False})
    if status in REFUSED:
        raise RewardModelError(f"{what}: {_error_text(status, body)}")
    if status in (404, 405):
        raise RewardModelError(f"{what}: it serves {name}, and gives no scores ({scores}: {status}); {START}")
    return name


START = "start a reward model's with vllm serve MODEL --runner pooling"


def _look(address: str, what: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
    """Return status and text of an answer to GET, or to POST of ``body``."""
    request = urllib.request.Request(address, None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    for name, value in headers().items():
        request.add_unredirected_header(name, value)  # not to another host
    try:
        try:
            with urllib.request.urlopen(request, timeout=LOOK) as response:
                return response.status, response.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise RewardModelError(f"{what}: no server answers at {address} ({error}); {START}") from None

"""The HTTP servers that verl starts for vLLM ask for the run's key: they bind the node's address, and ask for none.

verl/workers/rollout/utils.py, ``run_uvicorn``. Of these servers a run uses that of a reward model alone, through verl's
router, which hands headers on; reward/model/serving/server.py sends the key.
"""

import functools
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from types import ModuleType
from typing import Any

from reward.model.serving.server import headers
from reward.model.spec import RUN_KEY
from trainer.runs import run_secret

App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]


def patch(module: ModuleType) -> None:
    """Guard each server that ``verl.workers.rollout.utils`` starts; one that can have no key does not start."""
    run = module.run_uvicorn

    @functools.wraps(run)
    async def run_uvicorn(app: Any, *args: Any, **kwargs: Any) -> Any:
        run_secret.establish()
        wanted = headers(RUN_KEY)["Authorization"]
        # Not add_middleware: vLLM's application has begun.
        app.middleware_stack = KeyMiddleware(app.middleware_stack or app.build_middleware_stack(), wanted)
        return await run(app, *args, **kwargs)

    module.run_uvicorn = run_uvicorn  # type: ignore[attr-defined]


class KeyMiddleware:
    """Answers 401 to whoever does not show the key, before anything of the request is read."""

    def __init__(self, app: App, wanted: str) -> None:
        self._app = app
        self._wanted = wanted.encode()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Hand on what shows the key; and ``lifespan``, by which a server starts its application."""
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(shown, self._wanted):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})

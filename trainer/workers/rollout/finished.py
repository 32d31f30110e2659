"""What has finished of many calls, in groups."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

# Indices in the batch, and what was returned there; a text where the call failed, its traceback: an exception of vLLM's
# may not survive the way to another process.
Finished = list[tuple[int, Any]]


async def as_finished(calls: Sequence[Coroutine[Any, Any, Any]]) -> AsyncIterator[Finished]:
    """Make all calls at once; yield those that have finished since the last time, until there are none left."""
    finished: asyncio.Queue[tuple[int, Any]] = asyncio.Queue()

    async def make(index: int, call: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await call
        except Exception:
            result = traceback.format_exc()
        finished.put_nowait((index, result))

    tasks = [asyncio.create_task(make(index, call)) for index, call in enumerate(calls)]
    pending = len(tasks)
    while pending:
        group = [await finished.get()]
        while not finished.empty():
            group.append(finished.get_nowait())
        pending -= len(group)
        yield group

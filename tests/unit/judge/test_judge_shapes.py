"""Replies of other shapes than a provider's SDK takes for granted: no verdict, and never the end of a run."""

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.judge_server import JudgeServer, judge_of_sums
from tests.support.judging import config, judging

pytestmark = pytest.mark.usefixtures("judge_keys", "short_pauses")
INSTEAD: tuple[Any, ...] = (None, 7, -1.5, True, "x", [], [1], [[]], {}, {"a": 1}, [{"text": 3}])


def paths(body: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the way to each value of a JSON document, the whole first."""
    yield so_far
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in items:
        yield from paths(value, (*so_far, key))


def changed(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return ``body`` with ``value`` at ``path``."""
    if not path:
        return value
    found = copy.deepcopy(body)
    at = found
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return found


@pytest.mark.parametrize("name", ["openai", "claude", "gemini", "dashscope"])
def test_a_reply_of_any_shape_is_the_right_score_or_none(name) -> None:
    """Each value of a good reply in turn, exchanged for one of another kind."""
    kept: list[Any] = []
    shapes: Iterator[Any] = iter(())

    def shape(body: Any) -> Any:
        kept.append(body)
        return next(shapes, body)

    with JudgeServer(judge_of_sums, shape=shape) as server:
        settings = config(server, api_type=name, attempts=1, concurrency=1, breaker_after=100_000)

        async def all_shapes(judge: Any, gateway: Any) -> list[dict[str, float]]:
            nonlocal shapes
            found = [await judge.score("1 + 1", "2", "2")]
            bodies = [changed(kept[0], path, value) for path in paths(kept[0]) for value in INSTEAD]
            shapes = iter(bodies)
            sums = (judge.score(f"{i} + 1", f"{i + 1}", f"{i + 1}") for i in range(len(bodies)))
            found += await asyncio.gather(*sums)
            return found

        found, gateway = judging(settings, all_shapes)
    assert len(found) > 150
    assert all(each["score"] == 1.0 or each["unscored"] == 1.0 for each in found)
    assert 30 < sum(each["unscored"] for each in found) < len(found)
    assert set(gateway.metrics.total) & {"unscored_bad_reply", "unscored_no_verdict"}
    assert gateway.budget.spent.input_tokens >= 0

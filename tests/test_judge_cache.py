"""What the judge costs: nothing is paid for twice, and a budget is kept."""

import asyncio
import sqlite3
import threading

import pytest

from reward.judge.cache import Cache, Kept, Spent
from reward.judge.config import Price
from reward.judge.gateway import Gateway
from reward.judge.judge import Judge
from tests.judge_server import KEY, JudgeServer, judge_of_sums, verdict
from tests.judging import config, judging, sums

pytestmark = pytest.mark.usefixtures("judge_keys", "short_pauses")


def test_what_was_paid_for_is_not_paid_for_again(tmp_path) -> None:
    kept = {"cache": str(tmp_path / "judge.sqlite")}

    async def twice(judge: Judge, _: Gateway) -> list[dict[str, float]]:
        return await sums(judge, 10) + await sums(judge, 10)

    with JudgeServer(judge_of_sums) as server:
        found, _ = judging(config(server, **kept), twice)
        assert server.script.calls == 10
        assert [each["judge_cached"] for each in found] == [0.0] * 10 + [1.0] * 10
        again, gateway = judging(config(server, run="another", **kept), lambda judge, _: sums(judge, 10))
        assert server.script.calls == 10
        assert [each["score"] for each in again] == [each["score"] for each in found[:10]]
        assert gateway.metrics.total["cache_hits"] == 10
        different = ({"model": "n"}, {"temperature": 1.0}, {"scale": "0-10"}, {"prompt_preset": "math"})
        for number, option in enumerate((*different, {"language": "zh"}, {"system_prompt": "x"}), start=2):
            judging(config(server, **kept, **option), lambda judge, _: sums(judge, 10))
            assert server.script.calls == 10 * number, option


def test_identical_requests_in_flight_are_one() -> None:
    with JudgeServer(judge_of_sums, latency=0.3) as server:
        found, gateway = judging(
            config(server), lambda judge, _: asyncio.gather(*(judge.score("2 + 2", "4", "4") for _ in range(50)))
        )
    assert [each["score"] for each in found] == [1.0] * 50
    assert server.script.calls == 1
    assert gateway.metrics.total["merged"] == 49


def test_a_budget_ends(tmp_path) -> None:
    cost = {"money_budget": 0.01, "prices": {"m": Price(1.0, 10.0)}, "cache": str(tmp_path / "c.sqlite"), "run": "r"}

    async def in_order(judge: Judge, gateway: Gateway) -> list[dict[str, float]]:
        return [each for i in range(40) for each in await sums(judge, 1, start=i)]

    with JudgeServer(judge_of_sums) as server:
        found, gateway = judging(config(server, **cost), in_order)
        calls, spent = server.script.calls, gateway.metrics.money
        assert 0 < calls < 40
        assert 0.008 < spent <= 0.01
        assert [each["unscored"] for each in found] == [0.0] * calls + [1.0] * (40 - calls)
        assert gateway.stop.startswith("the judge's budget is spent: 0.00")
        assert gateway.metrics.take()["judge/cost"] == pytest.approx(spent)
        _, resumed = judging(config(server, **cost), lambda judge, _: sums(judge, 1, start=39))
        assert (server.script.calls, bool(resumed.stop)) == (calls, True)
        _, other = judging(config(server, **{**cost, "run": "s"}), lambda judge, _: sums(judge, 1, start=39))
        assert (server.script.calls, other.stop) == (calls + 1, "")
        _, going_on = judging(config(server, **cost, at_limit="continue"), lambda judge, _: sums(judge, 1, start=38))
        assert (going_on.stop, going_on.metrics.total["unscored_budget"]) == ("", 1)


def test_many_writers_share_a_cache(tmp_path) -> None:
    path, errors = tmp_path / "c.sqlite", []

    def write(number: int) -> None:
        try:
            cache = Cache(path, "r")
            for i in range(200):
                cache.put(f"{i}".encode(), Kept(float(i), "r"), "m")
                cache.put(f"{number}-{i}".encode(), Kept(float(i), "r"), "m")
                cache.pay(Spent(1, 2, 3, 0.5))
            cache.close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    cache = Cache(path, "r")
    assert cache.spent_before == Spent(1_600, 3_200, 4_800, 800.0)
    assert cache.get(b"7") == Kept(7.0, "r")
    assert all(cache.get(f"{number}-{i}".encode()) for number in range(8) for i in range(200))
    cache.close()


def test_a_cache_that_is_no_database_is_put_aside(tmp_path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"not a database, " * 100)
    cache = Cache(path)
    cache.put(b"k", Kept(1.0, ""), "m")
    cache.close()
    assert sqlite3.connect(path).execute("SELECT count(*) FROM verdicts").fetchone() == (1,)
    assert len(list(tmp_path.glob("*.broken-*"))) == 1


def test_no_key_is_in_the_cache(tmp_path) -> None:
    path = tmp_path / "c.sqlite"
    with JudgeServer(lambda *_: verdict(3, "fine")) as server:
        judging(config(server, cache=str(path)), lambda judge, _: judge.score("2 + 2", "4", "4"))
    content = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"fine" in content
    assert KEY.encode() not in content

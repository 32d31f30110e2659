"""Throughput and memory of the judge's gateway, against a server on loopback in a process of its own.

    .venv/bin/python -m tests.bench.judge [--provider openai] [--calls 3000] [--in_flight 256] [--latency 0.05]
    .venv/bin/python -m tests.bench.judge --memory 100000 [--instant]

The first asks the SDK alone and then the gateway, by turns, the same questions with the same number in flight, and
prints how much of the SDK's rate the gateway keeps: by the clock, and by the CPU time of this process, which is the
bound of one event loop and does not mind a busy machine. The second prints the memory of the process as calls go by;
with --instant, of the gateway alone, without SDK and server.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median

from reward.judge.config import JudgeConfig
from reward.judge.gateway.gateway import Gateway
from reward.judge.prompts.question import Prompts
from reward.judge.providers import PROVIDERS, Endpoint, JudgeRequest, Reply, connect
from reward.judge.verdict import schema
from tests.support.judge_server import ROUTES, verdict

ROUNDS = 5
PROMPTS = Prompts("math", "en")


async def in_flight(count: int, most: int, one: Callable[[int], Awaitable[object]]) -> tuple[float, float]:
    """Do ``one`` for each of ``count`` numbers, ``most`` at once; return calls a second, and a second of CPU time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await one(number)

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(most)))
    return count / (time.perf_counter() - started), count / (time.process_time() - cpu)


async def compare(options: argparse.Namespace, url: str) -> None:
    """Print the rates of the SDK alone and of the gateway."""
    endpoint = Endpoint(options.provider, "m", url)
    alone: list[tuple[float, float]] = []
    ours: list[tuple[float, float]] = []
    for turn in range(ROUNDS):
        questions = [PROMPTS.question(f"{turn} {i} + 1", str(i + 1), str(i + 1)) for i in range(options.calls)]
        sdk = connect(endpoint, 60.0, options.in_flight * 2)

        async def by_sdk(number: int) -> None:
            question = questions[number]  # noqa: B023
            await sdk.ask(JudgeRequest(question.system, question.user, 512, 0.0, schema()))  # noqa: B023

        gateway = Gateway(JudgeConfig(options.provider, "m", url, concurrency=options.in_flight, cache=options.cache))

        async def by_gateway(number: int) -> None:
            answer = await gateway.ask(questions[number])  # noqa: B023
            assert answer.raw == 10, answer

        for rates, one in ((alone, by_sdk), (ours, by_gateway)):
            await in_flight(options.in_flight, options.in_flight, one)  # connects
            rates.append(await in_flight(options.calls, options.in_flight, one))
        await sdk.close()
        await gateway.close()
    print(f"{options.provider}: {options.in_flight} in flight at {1000 * options.latency:g} ms")
    for which, name in enumerate(("by the clock", "by CPU time")):
        theirs, here = [each[which] for each in alone], [each[which] for each in ours]
        print(
            f"  {name}: the SDK alone {median(theirs):,.0f} calls/s, the gateway {median(here):,.0f}: "
            f"{median(here) / median(theirs):.1%} (best rounds: {max(here) / max(theirs):.1%})"
        )


def resident() -> float:
    """Return the memory of this process, MiB."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize() / (1 << 20)


class Instant:
    """A provider that answers at once."""

    def __init__(self, *_: object) -> None:
        self.reply = Reply(verdict(10), 500, 20)

    async def ask(self, request: JudgeRequest) -> Reply:
        """Return a verdict."""
        await asyncio.sleep(0)
        return self.reply

    async def close(self) -> None:
        """Do nothing."""


async def memory(options: argparse.Namespace, url: str) -> None:
    """Print the memory after each tenth of the calls."""
    config = JudgeConfig(options.provider, "m", url, concurrency=options.in_flight, cache=options.cache)
    gateway = Gateway(config, Instant) if options.instant else Gateway(config)
    done = 0

    async def one(_: int) -> None:
        nonlocal done
        done += 1
        await gateway.ask(PROMPTS.question(f"{done} + 1", str(done + 1), str(done + 1)))

    for _ in range(10):
        rate, _ = await in_flight(options.memory // 10, options.in_flight, one)
        print(f"{done:>8,} calls  {resident():7.1f} MiB  {rate:6,.0f} calls/s", flush=True)
    await gateway.close()


def main() -> None:
    """Start the server, measure, end the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", default="openai", choices=PROVIDERS)
    parser.add_argument("--calls", type=int, default=3_000)
    parser.add_argument("--in_flight", type=int, default=256)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds")
    parser.add_argument("--memory", type=int, default=0, metavar="CALLS")
    parser.add_argument("--instant", action="store_true")
    parser.add_argument("--cache", default="", help="file of the cache; none by default, as the SDK has none")
    options = parser.parse_args()
    os.environ[PROVIDERS[options.provider].keys[0]] = "sk-loopback-0123456789"
    command = [sys.executable, "-m", "tests.support.judge_server", "0", "0", str(options.latency)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        host = server.stdout.readline().split()[-1].removesuffix(ROUTES["openai"][0])
        work = memory if options.memory else compare
        asyncio.run(work(options, host + ROUTES[options.provider][0]))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()

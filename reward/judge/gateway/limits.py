"""Limits of a provider: requests and tokens in any minute, and a breaker for when it is down."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

MINUTE = 60.0
LOOK_AGAIN = 0.1  # seconds, while a request is on trial
Clock = Callable[[], float]


class RateLimiter:
    """Lets through at most ``most`` a minute, in any minute, in the order of arrival."""

    def __init__(self, most: float | None, clock: Clock = time.monotonic) -> None:
        self.most, self.clock = most, clock
        self._spent: deque[list[float]] = deque()  # [when, how much], the oldest first
        self._sum = 0.0
        self._turn = asyncio.Lock()

    def wait(self, amount: float) -> float:
        """Return the seconds until ``amount`` fits in; one above the limit fits into an empty minute."""
        now = self.clock()
        while self._spent and now - self._spent[0][0] >= MINUTE:
            self._sum -= self._spent.popleft()[1]
        assert self.most is not None
        over = self._sum + amount - self.most
        for when, spent in self._spent:
            if over <= 0:
                return 0.0
            over -= spent
            if over <= 0:
                return MINUTE - (now - when)
        return MINUTE - (now - self._spent[-1][0]) if over > 0 and self._spent else 0.0

    async def take(self, amount: float = 1.0) -> list[float]:
        """Wait until ``amount`` fits in; return the entry, for ``correct``."""
        entry = [0.0, amount]
        if self.most is None:
            return entry
        async with self._turn:
            while (seconds := self.wait(amount)) > 0:
                await asyncio.sleep(seconds)
            entry[0] = self.clock()
            self._spent.append(entry)
            self._sum += amount
        return entry

    def correct(self, entry: list[float], amount: float) -> None:
        """Say how much an entry was in truth."""
        if self.most is not None and entry[0] and self.clock() - entry[0] < MINUTE:
            self._sum += amount - entry[1]
            entry[1] = amount


class ConcurrencyLimiter:
    """Lets in at most ``most`` at once, and fewer while the provider says that it is too much.

    Additive increase, multiplicative decrease (Chiu and Jain 1989): a third fewer at each sign, once a second at most;
    one more for each round of answers.
    """

    def __init__(self, most: int, clock: Clock = time.monotonic) -> None:
        self.most, self.clock = most, clock
        self.limit = float(most)
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._shrunk_at = -math.inf

    async def __aenter__(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._inside < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():  # else whoever waited has gone
                self._inside += 1
                turn.set_result(None)

    def shrink(self) -> None:
        """Take note of a request that was one too many."""
        if self.clock() - self._shrunk_at >= 1.0:
            self.limit, self._shrunk_at = max(1.0, self.limit * 2 / 3), self.clock()

    def grow(self) -> None:
        """Take note of an answer."""
        self.limit = min(float(self.most), self.limit + 1 / self.limit)
        self._let_in()


class Breaker:
    """Stops asking a provider that is down: open after ``failures`` in a row, for ``seconds``, then one at a time.

    While it is open, and while its one trial request is under way, everyone else waits. Each failed trial doubles the
    time, up to a minute.
    """

    def __init__(self, failures: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self.failures, self.seconds, self.clock = failures, seconds, clock
        self._row = 0
        self._until = 0.0
        self._pause = seconds
        self._trial = False

    @property
    def is_open(self) -> bool:
        """Whether requests are held back."""
        return self._row >= self.failures

    def seconds_to_probe(self) -> float:
        """Return the seconds until it is worth while to ask ``wait``."""
        if not self.is_open:
            return 0.0
        seconds = self._until - self.clock()
        return seconds if seconds > 0 else LOOK_AGAIN * self._trial

    def wait(self) -> float:
        """Return the seconds until a request may go; 0 lets one go, which then must end in ``succeed`` or ``fail``."""
        seconds = self.seconds_to_probe()
        if not seconds and self.is_open:
            self._trial = True
        return seconds

    def succeed(self) -> None:
        """Take note of an answer."""
        self._row, self._trial, self._pause = 0, False, self.seconds

    def fail(self, at_once: bool = False) -> None:
        """Take note of a failure that says that the provider is down; ``at_once`` opens without counting."""
        was_open = self.is_open
        self._row = max(self._row + 1, self.failures if at_once else 0)
        if not self.is_open:
            return
        if was_open and not self._trial:
            return  # of a request that was under way
        self._pause = min(self._pause * 2, MINUTE) if was_open else self.seconds
        self._until = self.clock() + self._pause
        self._trial = False

    def release(self) -> None:
        """Take note of a request that ended without telling anything: the next one is the trial."""
        self._trial = False

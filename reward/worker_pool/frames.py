"""Messages between a client (``pool.py``) and its server (``forkserver.py``): header and JSON.

Only these two hold the pipes that frames go through: no process that runs a stranger's text or code has them.
"""

import os
import select
import struct
import time
from collections.abc import Callable

HEADER = struct.Struct("<QdI")  # number of the request, seconds that it may take (0 in a reply), bytes of JSON
LOOK = 1.0  # seconds of waiting between calls of ``on_wait``


class Closed(Exception):
    """The other side has ended."""


def pack(number: int, seconds: float, body: bytes) -> bytes:
    """Return one frame."""
    return HEADER.pack(number, seconds, len(body)) + body


def receive(
    descriptor: int, deadline: float, on_wait: Callable[[], None] | None = None
) -> tuple[int, float, bytearray]:
    """Return number, seconds and body of the next frame; this process has no other copy of the body (``wipe``).

    Raises:
        Closed: the other side has ended.
        TimeoutError: it is not there at ``deadline`` (of the monotonic clock).
    """
    number, seconds, size = HEADER.unpack(_read(descriptor, HEADER.size, deadline, on_wait))
    return number, seconds, _read(descriptor, size, deadline, on_wait)


def _read(descriptor: int, size: int, deadline: float, on_wait: Callable[[], None] | None = None) -> bytearray:
    data, filled = bytearray(size), 0
    while filled < size:
        if not wait({descriptor: select.POLLIN}, deadline, on_wait):
            raise TimeoutError
        count = os.readv(descriptor, [memoryview(data)[filled:]])
        if not count:
            raise Closed
        filled += count
    return data


def wipe(body: bytearray) -> None:
    """Overwrite a body: a child that is forked later has this process's memory, freed memory too."""
    body[:] = bytes(len(body))


def send(descriptor: int, data: bytes, deadline: float, on_wait: Callable[[], None] | None = None) -> None:
    """Write all of ``data`` to a descriptor that does not block.

    Raises:
        Closed: the other side has ended.
        TimeoutError: it is not written at ``deadline``.
    """
    unsent = memoryview(data)
    while unsent:
        if not wait({descriptor: select.POLLOUT}, deadline, on_wait):
            raise TimeoutError
        try:
            unsent = unsent[os.write(descriptor, unsent) :]
        except BlockingIOError:  # room, but for less than one page
            time.sleep(0.001)
        except BrokenPipeError:
            raise Closed from None


def wait(events: dict[int, int], deadline: float, on_wait: Callable[[], None] | None = None) -> set[int]:
    """Return the descriptors on which something can be done; none at ``deadline``.

    ``on_wait`` is called each ``LOOK`` seconds, and may raise.
    """
    poll = select.poll()
    for descriptor, event in events.items():
        poll.register(descriptor, event)
    while True:
        remaining = deadline - time.monotonic()
        ready = poll.poll(max(0.0, min(remaining, LOOK)) * 1000)
        if ready or remaining <= 0:
            return {descriptor for descriptor, _ in ready}
        if on_wait:
            on_wait()

"""The connection between two machines of a run: JSON lines over TCP, after both have shown that they have the token.

What is sent before that is the matter of ``handshake``.

Standard library only: it is used before anything is installed, to tell of a fault in what was typed.
"""

import contextlib
import json
import select
import socket
import threading
import time
from typing import Any

BEAT = 5.0  # seconds between signs of life
SILENCE = 30.0  # seconds without one, after which the other machine has gone
SENDING = 10.0  # seconds to deliver a message to one that does not read
LONGEST = 1 << 20  # bytes of a message
NOT_A_NODE = "handshake failed: not a ppo-kit node"


class Channel:
    """One connection. ``poll`` is for one thread, ``send`` for any."""

    def __init__(self, connection: socket.socket, received: bytes = b"") -> None:
        """Take over a connection, and what was ``received`` behind the handshake."""
        connection.settimeout(SENDING)
        self._socket = connection
        self._buffer = bytearray(received)
        self._sending = threading.Lock()
        self._heard = time.monotonic()
        self._open = True

    @property
    def address(self) -> str:
        """This machine's address, as the other side sees it."""
        return str(self._socket.getsockname()[0])

    def send(self, **message: Any) -> None:
        """Send a message; one that cannot be delivered shows in ``poll``, as the connection's end."""
        with self._sending:
            try:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
            except OSError:  # a part of it may have gone out: what follows would not be read as it is meant
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def poll(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message, None if there is none within ``seconds``.

        Raises:
            ConnectionError: the other side has closed the connection, is silent for too long, or talks nonsense.
        """
        deadline = time.monotonic() + seconds
        while True:
            message = self._next()
            if message is not None:
                return message
            remaining = max(0.0, deadline - time.monotonic())
            try:
                ready = self._readable(min(remaining, SILENCE))
                chunk = self._socket.recv(1 << 16) if ready else None
            except ConnectionResetError:  # closed with something unread: a beat of ours
                chunk = b""
            except (OSError, ValueError) as error:  # ValueError: closed by this side
                raise ConnectionError(str(error)) from None
            if chunk == b"":
                raise ConnectionError("the connection was closed")
            if chunk is not None:
                self._heard = time.monotonic()
                self._buffer += chunk
            elif time.monotonic() - self._heard >= SILENCE:
                raise ConnectionError(f"no sign of life for {SILENCE:.0f} s")
            if remaining == 0:  # also where beats come without end
                return self._next()

    def _next(self) -> dict[str, Any] | None:
        """Take the first message that is no beat off the buffer."""
        while (end := self._buffer.find(b"\n", 0, LONGEST + 1)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]  # which moves nothing
            message = parsed(line)
            if "beat" not in message:
                return message
        if len(self._buffer) > LONGEST:
            raise ConnectionError("a message has no end")
        return None

    def _readable(self, seconds: float) -> bool:
        poller = select.poll()  # select.select takes no descriptor above 1023
        poller.register(self._socket, select.POLLIN)
        return bool(poller.poll(seconds * 1000))

    def beat(self) -> None:
        """Show signs of life from now on, in a thread of its own."""

        def go_on() -> None:
            while self._open:
                self.send(beat=1)
                time.sleep(BEAT)

        threading.Thread(target=go_on, daemon=True).start()

    def close(self) -> None:
        """Close the connection; what was sent still arrives."""
        self._open = False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def parsed(line: bytes) -> dict[str, Any]:
    """Return the message that a line holds.

    Raises:
        ConnectionError: it holds none.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):  # RecursionError: brackets, a thousand deep
        message = None
    if not isinstance(message, dict):
        raise ConnectionError(NOT_A_NODE)
    return message

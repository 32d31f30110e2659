"""The connection between two machines of a run: JSON lines over TCP, after both have shown that they have the token.

Standard library only: it is used before anything is installed, to tell of a fault in what was typed.
"""

import contextlib
import hashlib
import hmac
import json
import secrets
import select
import socket
import threading
import time
from typing import Any

BEAT = 5.0  # seconds between signs of life
SILENCE = 30.0  # seconds without one, after which the other machine has gone
HANDSHAKE = 10.0  # seconds
LONGEST = 1 << 20  # bytes of a message


class RefusedError(Exception):
    """The other side has another token."""


class Channel:
    """One connection. ``poll`` is for one thread, ``send`` for any."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()
        self._sending = threading.Lock()
        self._heard = time.monotonic()
        self._open = True

    @property
    def address(self) -> str:
        """This machine's address, as the other side sees it."""
        return str(self._socket.getsockname()[0])

    def send(self, **message: Any) -> None:
        """Send a message; one that cannot be delivered shows in ``poll``, as the connection's end."""
        with self._sending, contextlib.suppress(OSError):
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def poll(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message, None if there is none within ``seconds``.

        Raises:
            ConnectionError: the other side has closed the connection, is silent for too long, or talks nonsense.
        """
        deadline = time.monotonic() + seconds
        while True:
            end = self._buffer.find(b"\n")
            if end >= 0:
                line, self._buffer = bytes(self._buffer[:end]), self._buffer[end + 1 :]
                message = _parsed(line)
                if "beat" in message:
                    continue
                return message
            if len(self._buffer) > LONGEST:
                raise ConnectionError("a message has no end")
            try:
                wait = min(max(0.0, deadline - time.monotonic()), SILENCE)
                ready = select.select([self._socket], [], [], wait)[0]
                chunk = self._socket.recv(1 << 16) if ready else None
            except (OSError, ValueError) as error:  # ValueError: closed by this side
                raise ConnectionError(str(error)) from None
            if chunk == b"":
                raise ConnectionError("the connection was closed")
            if chunk is not None:
                self._heard = time.monotonic()
                self._buffer += chunk
            elif time.monotonic() - self._heard >= SILENCE:
                raise ConnectionError(f"no sign of life for {SILENCE:.0f} s")
            elif time.monotonic() >= deadline:
                return None

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


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ConnectionError("it is no machine of a run")
    return message


def _proof(token: str, who: str, one: str, other: str) -> str:
    return hmac.new(token.encode(), f"{who} {one} {other}".encode(), hashlib.sha256).hexdigest()


def greet_leader(channel: Channel, token: str) -> None:
    """Show the leader that this machine has the token, and see that the leader has it.

    Raises:
        RefusedError: they differ.
        ConnectionError: no leader is there.
    """
    challenge = str((channel.poll(HANDSHAKE) or {}).get("challenge", ""))
    if not challenge:
        raise ConnectionError("it is no machine of a run")
    own = secrets.token_hex(16)
    channel.send(challenge=own, proof=_proof(token, "member", challenge, own))
    answer = str((channel.poll(HANDSHAKE) or {}).get("proof", ""))
    if not hmac.compare_digest(answer, _proof(token, "leader", challenge, own)):
        raise RefusedError


def greet_member(channel: Channel, token: str) -> None:
    """Do the same from the other side.

    Raises:
        RefusedError: they differ.
        ConnectionError: it is no machine of a run.
    """
    own = secrets.token_hex(16)
    channel.send(challenge=own)
    answer = channel.poll(HANDSHAKE) or {}
    theirs = str(answer.get("challenge", ""))
    if not hmac.compare_digest(str(answer.get("proof", "")), _proof(token, "member", own, theirs)):
        channel.send(proof="")
        raise RefusedError
    channel.send(proof=_proof(token, "leader", own, theirs))

"""The door of the head node: whoever connects is a stranger, until it has shown that it has the token.

Anybody who reaches the port can connect, as often as he likes. One thread serves all strangers; each may send
``handshake.LINE`` bytes within ``handshake.HANDSHAKE`` seconds, and there are only so many at a time: a new one takes
the place of the oldest, of the address that has most, so that one who can answer always comes in.
"""

import contextlib
import errno
import json
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from trainer.launch.cluster import handshake
from trainer.launch.cluster.wire import NOT_A_NODE, parsed

MOST = 256  # connections of strangers; 1024 descriptors are what a process often has
MOST_OF_ADDRESS = 128
WAITING = 4096  # connections that the kernel holds; beyond, it loses some that their side believes open
ACCEPTED = 32  # connections in one pass of the loop, so that an older one has time to answer
PAUSE = 0.01  # seconds between passes
IDLE_SHARE = 4  # at least so many times the processor time that a pass took
CLOSE_SECONDS = 5.0  # for the thread to end
EXHAUSTED = 0.2  # seconds to wait where there are no descriptors
NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@dataclass
class Stranger:
    """A connection without proof."""

    connection: socket.socket
    address: str
    deadline: float  # of time.monotonic()
    challenge: str = field(default_factory=handshake.new_challenge)
    received: bytearray = field(default_factory=bytearray)


class Admission:
    """Accepts connections and hands over those that have the token.

    ``admit`` gets the connection and its address, ``refuse`` the address of one that has another token; both are called
    in the thread of the door, and return at once.
    """

    def __init__(
        self,
        listener: socket.socket,
        token: str,
        admit: Callable[[socket.socket, str], None],
        refuse: Callable[[str], None],
    ) -> None:
        self._listener, self._token, self._admit, self._refuse = listener, token, admit, refuse
        self._strangers: dict[socket.socket, Stranger] = {}  # the oldest first
        self._of_address: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._open = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin, in a thread."""
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()

    def close(self) -> None:
        """Let nobody in from now on."""
        self._open = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(CLOSE_SECONDS)
        self._listener.close()

    def _run(self) -> None:
        while self._open:
            ready = self._selector.select(self._wait())
            began = time.thread_time()
            for key, _ in ready:  # answers before newcomers, which may take their place
                stranger = self._strangers.get(key.fileobj)  # type: ignore[call-overload]
                if stranger is not None:
                    self._read(stranger)
            self._expire()
            if any(key.fileobj is self._listener for key, _ in ready):
                self._accept()
            if ready:  # so that no flood holds a core
                time.sleep(max(PAUSE, IDLE_SHARE * (time.thread_time() - began)))
        for stranger in list(self._strangers.values()):
            self._drop(stranger)
        self._selector.close()

    def _wait(self) -> float:
        oldest = next(iter(self._strangers.values()), None)
        return 1.0 if oldest is None else min(1.0, max(0.0, oldest.deadline - time.monotonic()))

    def _accept(self) -> None:
        for _ in range(ACCEPTED):
            try:
                connection, name = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:  # also ECONNABORTED: it has gone already
                if error.errno in NO_RESOURCES:
                    for stranger in list(self._strangers.values())[: 1 + len(self._strangers) // 2]:
                        self._drop(stranger)
                    time.sleep(EXHAUSTED)
                return
            self._take(connection, name[0])

    def _take(self, connection: socket.socket, address: str) -> None:
        if self._of_address[address] >= MOST_OF_ADDRESS:
            self._drop_oldest(address)
        elif len(self._strangers) >= MOST:
            self._drop_oldest(max(self._of_address, key=self._of_address.__getitem__))
        stranger = Stranger(connection, address, time.monotonic() + handshake.HANDSHAKE)
        self._strangers[connection] = stranger
        self._of_address[address] += 1
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ)
        self._send(stranger, challenge=stranger.challenge)

    def _read(self, stranger: Stranger) -> None:
        try:
            chunk = stranger.connection.recv(handshake.LINE)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        stranger.received += chunk
        end = stranger.received.find(b"\n")
        if end >= 0:
            self._judge(stranger, bytes(stranger.received[:end]), len(stranger.received) - end - 1)
        elif not chunk or len(stranger.received) >= handshake.LINE:
            self._drop(stranger)

    def _judge(self, stranger: Stranger, line: bytes, behind: int) -> None:
        """Admit the stranger if ``line`` is the proof; a node says nothing ``behind`` it until it has its answer."""
        try:
            if behind or len(line) > handshake.LINE:
                raise ConnectionError(NOT_A_NODE)
            message = parsed(line)
            theirs, answer = handshake.read_challenge(message), handshake.read_proof(message)
        except ConnectionError:
            self._drop(stranger)
            return
        if not handshake.is_proof(answer, handshake.proof(self._token, "member", stranger.challenge, theirs)):
            self._refuse(stranger.address)
            self._send(stranger, proof="")
            self._drop(stranger, reset=False)
        elif self._send(stranger, proof=handshake.proof(self._token, "leader", stranger.challenge, theirs)):
            self._forget(stranger)
            self._admit(stranger.connection, stranger.address)

    def _send(self, stranger: Stranger, **message: str) -> bool:
        """Send what always has room in the kernel; return whether the connection is still there."""
        try:
            stranger.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self._drop(stranger)
            return False
        return True

    def _expire(self) -> None:
        now = time.monotonic()
        while self._strangers and (oldest := next(iter(self._strangers.values()))).deadline <= now:
            self._drop(oldest)

    def _drop_oldest(self, address: str) -> None:
        self._drop(next(one for one in self._strangers.values() if one.address == address))

    def _drop(self, stranger: Stranger, reset: bool = True) -> None:
        """Close the connection; with a reset nothing of it stays in the kernel."""
        self._forget(stranger)
        with contextlib.suppress(OSError):
            if reset:
                stranger.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stranger.connection.close()

    def _forget(self, stranger: Stranger) -> None:
        if self._strangers.pop(stranger.connection, None) is None:
            return  # dropped before
        self._selector.unregister(stranger.connection)
        self._of_address[stranger.address] -= 1
        if not self._of_address[stranger.address]:
            del self._of_address[stranger.address]

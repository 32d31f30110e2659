"""What strangers do at MASTER_PORT, and what strangers who listen there do to a node. One line a mode.

``TO_HEAD`` maps a mode to a function of a connection that the head has accepted; it is called on many connections at
once, and may raise OSError when the head has had enough. ``TO_NODE`` maps a mode to what a false head sends.
"""

import itertools
import json
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator

OPEN = 20.0  # seconds for which a stranger holds on


def _send(*parts: bytes, wait: float = OPEN) -> Callable[[socket.socket], None]:
    def mode(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
        _hold(connection, wait)

    return mode


def _hold(connection: socket.socket, seconds: float) -> None:
    connection.settimeout(seconds)
    while connection.recv(4096):
        pass


def _repeat(part: bytes, pause: float = 0.0) -> Callable[[socket.socket], None]:
    def mode(connection: socket.socket) -> None:
        end = time.monotonic() + OPEN
        while time.monotonic() < end:
            connection.sendall(part)
            time.sleep(pause)

    return mode


def _half_closed(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_WR)
    _hold(connection, OPEN)


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _reflected(connection: socket.socket) -> None:
    challenge = json.loads(connection.recv(4096))["challenge"]
    connection.sendall(_message(challenge=challenge, proof=challenge))
    _hold(connection, OPEN)


def _message(**message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


HEX = "ab" * 32
SCALARS: tuple[object, ...] = (None, True, 1, -1.5, 10**400, "", [], [1], {}, {"a": "b"}, "\ud800", "é", "\0", HEX, " ")
FORMS = {  # messages that are no proof
    "deep lists": b"[" * 200_000,
    "deep lists that end": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "deep lists, short": b"[" * 500 + b"\n",
    "deep objects": b'{"a":' * 100 + b"\n",
    "binary": bytes(range(256)) * 4 + b"\n",
    "zeros": b"\0" * 100_000,
    "no UTF-8": b'{"challenge": "\xff\xfe", "proof": "\xff"}\n',
    "UTF-16": '{"challenge": "a", "proof": "b"}\n'.encode("utf-16"),
    "byte order mark": "\ufeff{}\n".encode(),
    "huge line": b'{"proof": "' + b"a" * (1 << 21),
    "huge line that ends": b'{"proof": "' + b"a" * (1 << 20) + b'"}\n',
    "huge number": b'{"proof": ' + b"9" * 400 + b"}\n",
    "not a number": b'{"proof": NaN, "challenge": Infinity}\n',
    "empty line": b"\n",
    "carriage return": b"\r\n\r\n",
    "a browser": b"GET / HTTP/1.1\r\nHost: head\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a list": b"[]\n",
    "text": b'"proof"\n',
    "beat": _message(beat=1),
    "hello without proof": _message(hello={"rank": 1}),
    "end": _message(end=0, text="\x1b[2J"),
    "proof without challenge": _message(proof=HEX),
    "challenge without proof": _message(challenge=HEX),
    "key twice": b'{"proof": "a", "proof": [], "challenge": "b"}\n',
} | {
    f"{key} {number}": _message(**{"challenge": HEX, "proof": HEX, key: value})
    for key in ("challenge", "proof")
    for number, value in enumerate(SCALARS)
}
TO_HEAD: dict[str, Callable[[socket.socket], None]] = {
    "idle": lambda connection: _hold(connection, OPEN),
    "renewed": lambda connection: None,  # closed at once, and opened again
    "reset": _reset,
    "half closed": _half_closed,
    "reflected challenge": _reflected,
    "slow drip": _repeat(b"x", 0.05),
    "slow drip of a proof": _repeat(b" ", 0.5),
    "endless beats": _repeat(_message(beat=1)),
    "slow beats": _repeat(_message(beat=1), 0.2),
    "endless empty lines": _repeat(b"\n"),
    "proof with more behind": _send(_message(challenge=HEX, proof=HEX) * 2),
    "proof in parts": _send(*(bytes([byte]) for byte in _message(challenge=HEX, proof=HEX))),
    **{name: _send(form) for name, form in FORMS.items()},
}

CHALLENGE = _message(challenge="ab" * 16)
TO_NODE: dict[str, Callable[[], Iterable[bytes]]] = {
    "silent": lambda: [b""],
    "slow drip": lambda: _drip(b"x"),
    "slow drip of white space": lambda: _drip(b" "),
    "endless beats": lambda: itertools.repeat(_message(beat=1)),
    "endless beats after the challenge": lambda: itertools.chain([CHALLENGE], itertools.repeat(_message(beat=1))),
    "slow beats": lambda: _drip(_message(beat=1)),
    "endless line": lambda: itertools.repeat(b"a" * 65536),
    "endless challenges": lambda: itertools.repeat(CHALLENGE),
    "challenge and silence": lambda: [CHALLENGE, b""],
    "challenge and drip": lambda: itertools.chain([CHALLENGE], _drip(b" ")),
    "challenge and close": lambda: [CHALLENGE, b"close"],
    "close": lambda: [b"close"],
    **{name: lambda form=form: [form, b""] for name, form in FORMS.items()},  # type: ignore[misc]
    **{f"challenge, then {name}": lambda form=form: [CHALLENGE, form, b""] for name, form in FORMS.items()},  # type: ignore[misc]
}


def _drip(part: bytes) -> Iterator[bytes]:
    while True:
        yield part
        time.sleep(0.1)

"""How two machines of a run show each other that they have the token, without sending it.

The head sends a challenge; the node answers with one of its own and an HMAC of both; the head answers with another HMAC
of both. Until then the other side is a stranger: what it may send is short, and comes within ``HANDSHAKE`` seconds.
"""

import hashlib
import hmac
import json
import secrets
import socket
import time
from typing import Any

from trainer.launch.cluster.wire import NOT_A_NODE, parsed

HANDSHAKE = 10.0  # seconds for all of it
LINE = 512  # bytes of a message


class RefusedError(Exception):
    """The other side has another token."""


def new_challenge() -> str:
    """Return what nobody has answered before."""
    return secrets.token_hex(16)


def proof(token: str, who: str, head: str, node: str) -> str:
    """Return what shows that ``who`` ("leader" or "member") has the token, by the challenges of both."""
    key = token.encode("utf-8", "surrogateescape")  # an environment variable need not be UTF-8
    return hmac.new(key, f"{who} {head} {node}".encode(), hashlib.sha256).hexdigest()


def is_proof(answer: str, expected: str) -> bool:
    """Whether they are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(answer.encode("utf-8", "replace"), expected.encode())  # text must be ASCII there


def read_challenge(message: dict[str, Any]) -> str:
    """Return the challenge of a stranger's message.

    Raises:
        ConnectionError: there is none.
    """
    challenge = message.get("challenge")
    if not isinstance(challenge, str) or not (challenge.isascii() and challenge.isalnum()):
        raise ConnectionError(NOT_A_NODE)
    return challenge


def read_proof(message: dict[str, Any]) -> str:
    """Return the proof of a stranger's message.

    Raises:
        ConnectionError: there is none.
    """
    answer = message.get("proof")
    if not isinstance(answer, str):
        raise ConnectionError(NOT_A_NODE)
    return answer


def prove_to_head_node(connection: socket.socket, token: str, seconds: float = HANDSHAKE) -> bytes:
    """Do the node's side; return what the head has sent after its proof.

    Raises:
        RefusedError: the head has another token.
        ConnectionError: no head answers, or not within ``seconds``.
    """
    deadline, received = time.monotonic() + seconds, bytearray()
    challenge, own_challenge = read_challenge(_read_message(connection, received, deadline)), new_challenge()
    answer = {"challenge": own_challenge, "proof": proof(token, "member", challenge, own_challenge)}
    connection.sendall(json.dumps(answer).encode() + b"\n")
    if not is_proof(
        read_proof(_read_message(connection, received, deadline)), proof(token, "leader", challenge, own_challenge)
    ):
        raise RefusedError
    return bytes(received)


def _read_message(connection: socket.socket, received: bytearray, deadline: float) -> dict[str, Any]:
    """Take one line off ``received``, to which is added what comes until ``deadline``."""
    while (end := received.find(b"\n", 0, LINE)) < 0:
        remaining = deadline - time.monotonic()
        if len(received) >= LINE:
            raise ConnectionError(NOT_A_NODE)
        if remaining <= 0:
            raise ConnectionError("handshake failed: no answer in time")
        connection.settimeout(remaining)
        try:
            chunk = connection.recv(LINE)
        except TimeoutError:
            continue
        if not chunk:
            raise ConnectionError("handshake failed: the connection was closed")
        received += chunk
    line = bytes(received[:end])
    del received[: end + 1]
    return parsed(line)

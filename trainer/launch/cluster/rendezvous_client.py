"""The side of a machine that follows: it comes to the head node, does what it is told, and ends with it."""

import contextlib
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from trainer.launch.cluster import token
from trainer.launch.cluster.handshake import HANDSHAKE, RefusedError, prove_to_head_node
from trainer.launch.cluster.wire import Channel
from trainer.settings.knobs import load_knobs

RETRY = 1.0  # seconds
SHORTEST = 2.0  # seconds for the first handshake, which the kernel of a flooded head node may have lost
TELLING = 5.0  # seconds to tell the head node of a fault


class NoHeadNodeError(Exception):
    """The head node cannot be had; the message says why, and what to do."""


def connect(
    address: str,
    port: int,
    own_address: str,
    timeout: float,
    insecure: bool = False,
    say: Callable[[str], None] | None = None,
) -> Channel:
    """Return the connection to the head node, which may start up to ``timeout`` seconds later.

    ``own_address`` is this machine's address; empty, it is that of the way to the head node.

    Raises:
        NoHeadNodeError: it cannot be had.
    """
    deadline, announced, longest = time.monotonic() + timeout, False, SHORTEST
    while True:
        known = "" if insecure else _token(say)
        reached = False
        try:
            with contextlib.ExitStack() as stack:
                connection = socket.create_connection((address, port), timeout=5, source_address=(own_address, 0))
                stack.enter_context(connection)
                reached = True
                if not known and not insecure:
                    raise NoHeadNodeError(_no_token(address))
                remaining = deadline - time.monotonic()
                received = prove_to_head_node(connection, known, min(longest, max(SHORTEST, remaining)))
                stack.pop_all()
        except RefusedError:
            raise NoHeadNodeError(
                f"the head node at {address} has another Ray token; copy its {token.place(os.environ)} here, or "
                "export the same RAY_AUTH_TOKEN on all (with --insecure_ray on all there is none)"
            ) from None
        except (OSError, UnicodeError) as error:  # UnicodeError: of a name that can be none
            if time.monotonic() >= deadline:
                raise NoHeadNodeError(_not_had(address, port, timeout, error, reached)) from None
            if not announced and say is not None:
                say(f"waiting for the head node at {address}:{port} (at most {timeout:.0f} s, JOIN_TIMEOUT)")
                announced = True
            longest = min(HANDSHAKE, 2 * longest)
            time.sleep(RETRY)
            continue
        return Channel(connection, received)


def _not_had(address: str, port: int, timeout: float, error: Exception, reached: bool) -> str:
    where, why = f"MASTER_ADDR={address} MASTER_PORT={port}", getattr(error, "strerror", None) or error
    if reached:
        return (
            f"{where}: a program answers there, but no head node within {timeout:.0f} s (JOIN_TIMEOUT; {why}); see "
            "that no other program listens at that port, and that the head node runs"
        )
    return (
        f"{where}: the head node was not reached within {timeout:.0f} s (JOIN_TIMEOUT; {why}); start it there with "
        "NODE_RANK=0, and see that the port is open"
    )


def _token(say: Callable[[str], None] | None) -> str:
    try:
        line = token.secure(os.environ)
    except token.TokenError as error:
        raise NoHeadNodeError(str(error)) from None
    if line and say is not None:
        say(line)
    return token.find(os.environ)


def _no_token(address: str) -> str:
    return (
        f"there is no Ray token on this node, and the head node requires one; copy {token.place(os.environ)} "
        f"of {address} to the same place, or export the same RAY_AUTH_TOKEN on all (with --insecure_ray on all there "
        "is none)"
    )


def tell(environ: Mapping[str, str], faults: tuple[str, ...]) -> None:
    """Tell the head node that this one does not come, and why, if it is one of several."""
    nodes, rank, address = (environ.get(env, "") for env in ("NNODES", "NODE_RANK", "MASTER_ADDR"))
    port = environ.get("MASTER_PORT") or next(knob.default for knob in load_knobs() if knob.env == "MASTER_PORT")
    if nodes in ("", "1") or rank in ("", "0") or not address or not port.isdecimal():
        return
    insecure = environ.get("INSECURE_RAY") == "true"
    try:
        channel = connect(address, int(port), environ.get("NODE_ADDR", ""), TELLING, insecure)
    except NoHeadNodeError:
        return
    channel.send(refused=[f"node {rank} ({socket.gethostname()}): {fault}" for fault in faults])
    channel.close()


def hear(channel: Channel, seconds: float) -> dict[str, Any] | None:
    """Return what the head node says, None if nothing comes in time.

    Raises:
        NoHeadNodeError: it has gone.
    """
    try:
        return channel.poll(seconds)
    except ConnectionError as error:
        raise NoHeadNodeError(f"lost the connection to the head node: {error}; see its console") from None

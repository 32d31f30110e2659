"""The side of a machine that follows: it comes to machine 0, does what it is told, and ends with it."""

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
SHORTEST = 2.0  # seconds for the first handshake, which the kernel of a flooded machine 0 may have lost
TELLING = 5.0  # seconds to tell machine 0 of a fault


class NoHeadNodeError(Exception):
    """Machine 0 cannot be had; the message says why, and what to do."""


def connect(
    address: str, port: int, own: str, patience: float, insecure: bool = False, say: Callable[[str], None] | None = None
) -> Channel:
    """Return the connection to machine 0, which may start up to ``patience`` seconds later.

    ``own`` is this machine's address; empty, it is that of the way to machine 0.

    Raises:
        NoHeadNodeError: it cannot be had.
    """
    deadline, told, longest = time.monotonic() + patience, False, SHORTEST
    while True:
        known = "" if insecure else _token(say)
        reached = False
        try:
            with contextlib.ExitStack() as stack:
                connection = socket.create_connection((address, port), timeout=5, source_address=(own, 0))
                stack.enter_context(connection)
                reached = True
                if not known and not insecure:
                    raise NoHeadNodeError(_no_token(address))
                left = deadline - time.monotonic()
                received = prove_to_head_node(connection, known, min(longest, max(SHORTEST, left)))
                stack.pop_all()
        except RefusedError:
            raise NoHeadNodeError(
                f"machine 0 at {address} has another token of Ray; bring its {token.place(os.environ)} here, or export "
                "the same RAY_AUTH_TOKEN on all (with --insecure_ray on all there is none)"
            ) from None
        except (OSError, UnicodeError) as error:  # UnicodeError: of a name that can be none
            if time.monotonic() >= deadline:
                raise NoHeadNodeError(_not_had(address, port, patience, error, reached)) from None
            if not told and say is not None:
                say(f"waiting for machine 0 at {address}:{port} (at most {patience:.0f} s, JOIN_TIMEOUT)")
                told = True
            longest = min(HANDSHAKE, 2 * longest)
            time.sleep(RETRY)
            continue
        return Channel(connection, received)


def _not_had(address: str, port: int, patience: float, error: Exception, reached: bool) -> str:
    where, why = f"MASTER_ADDR={address} MASTER_PORT={port}", getattr(error, "strerror", None) or error
    if reached:
        return (
            f"{where}: a program answers there, but no machine 0 within {patience:.0f} s (JOIN_TIMEOUT; {why}); see "
            "that no other program listens at that port, and that machine 0 runs"
        )
    return (
        f"{where}: machine 0 was not reached within {patience:.0f} s (JOIN_TIMEOUT; {why}); start it there with "
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
        f"there is no token of Ray's here, without which machine 0 lets nobody in; copy {token.place(os.environ)} of "
        f"{address} to the same place, or export the same RAY_AUTH_TOKEN on all (with --insecure_ray on all there is "
        "none)"
    )


def tell(environ: Mapping[str, str], faults: tuple[str, ...]) -> None:
    """Tell machine 0 that this one does not come, and why, if it is one of several."""
    nodes, rank, address = (environ.get(env, "") for env in ("NNODES", "NODE_RANK", "MASTER_ADDR"))
    port = environ.get("MASTER_PORT") or next(knob.default for knob in load_knobs() if knob.env == "MASTER_PORT")
    if nodes in ("", "1") or rank in ("", "0") or not address or not port.isdecimal():
        return
    insecure = environ.get("INSECURE_RAY") == "true"
    try:
        channel = connect(address, int(port), environ.get("NODE_ADDR", ""), TELLING, insecure)
    except NoHeadNodeError:
        return
    channel.send(refused=[f"machine {rank} ({socket.gethostname()}): {fault}" for fault in faults])
    channel.close()


def hear(channel: Channel, seconds: float) -> dict[str, Any] | None:
    """Return what machine 0 says, None if nothing comes in time.

    Raises:
        NoHeadNodeError: it has gone.
    """
    try:
        return channel.poll(seconds)
    except ConnectionError as error:
        raise NoHeadNodeError(f"machine 0 has gone: {error}; look at what it says there") from None

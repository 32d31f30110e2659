"""Ports that nobody listens at."""

import random
import socket

# Above those that Ray gives to its workers, below those that the kernel gives out: nobody takes one meanwhile.
PORTS = range(20_000, 32_767)


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port that is free at ``address``, and so is the next one."""
    while True:
        port = random.choice(PORTS)
        try:
            with socket.create_server((address, port)), socket.create_server((address, port + 1)):
                return port
        except OSError:
            continue

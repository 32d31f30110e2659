"""Ports that nobody listens at."""

import socket


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port that is free at ``address``, and so is the next one."""
    while True:
        with socket.create_server((address, 0)) as one:
            port = int(one.getsockname()[1])
            if port == 65535:
                continue
            try:
                with socket.create_server((address, port + 1)):
                    return port
            except OSError:
                continue

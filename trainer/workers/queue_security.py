"""TransferQueue's sockets under CURVE, ZeroMQ's own encryption: who does not have the run's secret is not heard.

TransferQueue 0.1.11 binds ROUTER sockets at the machine's address and unpickles what arrives
(``transfer_queue/utils/serial_utils.py``, ``decode``). Under CURVE (https://rfc.zeromq.org/spec/26/) no frame reaches
it before both sides have shown their keys, both of which are derived from the run's secret: the server drops a client
that does not know the server's key, asks ``_admit`` about the client's, and takes no other mechanism. All frames are
encrypted and numbered, under keys of their own for each connection.
"""

import asyncio
import logging
import sys
import threading
import weakref
from types import ModuleType
from typing import Any

import zmq
from zmq.auth.base import Authenticator
from zmq.utils import z85

from trainer.runs import run_secret
from trainer.workers import loopback
from trainer.workers.post_import import after_import

HANDSHAKE_MS = 10_000  # a connection that has shown no key by then is closed
CREATE = "create_zmq_socket"

_guarded: weakref.WeakSet[Any] = weakref.WeakSet()  # contexts that have an authenticator
logger = logging.getLogger(__name__)


def install() -> None:
    """Secure a process of Ray's: ``worker_process_setup_hook``, as not all of them import verl."""
    loopback.use_interface()
    after_import({"transfer_queue.utils.zmq_utils": patch})


def patch(module: ModuleType) -> None:
    """Secure each socket that ``transfer_queue.utils.zmq_utils`` makes, for whoever has imported from it already too.

    Raises:
        AttributeError: this TransferQueue makes its sockets elsewhere.
    """
    original = getattr(module, CREATE)

    def create(ctx: zmq.Context[Any], socket_type: int, *args: Any, **kwargs: Any) -> Any:
        socket = original(ctx, socket_type, *args, **kwargs)
        secure(socket, ctx, run_secret.establish(), server=socket_type == zmq.ROUTER)
        return socket

    for importer in [module, *(m for name, m in sys.modules.items() if name.startswith("transfer_queue."))]:
        if getattr(importer, CREATE, None) is original:
            setattr(importer, CREATE, create)


def secure(socket: Any, context: Any, secret: str, *, server: bool) -> None:
    """Have ``socket`` speak CURVE only; transports within a process, which TransferQueue uses too, are left as is."""
    server_keys, client_keys = _key_pair(secret, "server"), _key_pair(secret, "client")
    own_public, own_secret = server_keys if server else client_keys
    socket.setsockopt(zmq.CURVE_PUBLICKEY, own_public)
    socket.setsockopt(zmq.CURVE_SECRETKEY, own_secret)
    if not server:
        socket.setsockopt(zmq.CURVE_SERVERKEY, server_keys[0])
        return
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    if context not in _guarded:
        _guarded.add(context)
        _Authenticator(context, client_keys[0]).start()


def _key_pair(secret: str, side: str) -> tuple[bytes, bytes]:
    """Return the public and the secret key of one side, as ZeroMQ writes them (Z85)."""
    private = z85.encode(run_secret.derive(secret, f"TransferQueue {side}"))
    return zmq.curve_public(private), private


class _Authenticator(threading.Thread):
    """Answers ZeroMQ's question whether a client's key is the run's (https://rfc.zeromq.org/spec/27/).

    pyzmq's ``ThreadAuthenticator`` does the same, but keeps its sockets when the context is terminated, which then
    waits for ever; TransferQueue terminates its contexts.
    """

    def __init__(self, context: Any, client_key: bytes) -> None:
        super().__init__(name="queue-authenticator", daemon=True)
        self._client_key = client_key
        self._authenticator = Authenticator(context, log=logger)
        self._authenticator.configure_curve_callback(credentials_provider=self)
        self._authenticator.start()  # here, so that nobody is let in before it listens

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether the client's public key is that of the run."""
        return key == self._client_key

    def run(self) -> None:
        """Answer until the context is terminated."""
        try:
            while True:
                asyncio.run(self._authenticator.handle_zap_message(self._authenticator.zap_socket.recv_multipart()))
        except zmq.ContextTerminated:
            pass
        finally:
            self._authenticator.zap_socket.close(linger=0)

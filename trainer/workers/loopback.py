"""A run on one machine binds its loopback address alone, where Ray and torch would bind all addresses.

Ray binds 127.0.0.1 wherever that is the node's address, but does not take it as such: ``resolve_ip_for_localhost``
(ray/_private/services.py) puts the address of the way out in its place.
"""

import os
import socket
from types import ModuleType
from typing import Any

ADDRESS = "127.0.0.1"
ALONE = "KIT_ALONE"  # env var: the run has this machine only
# Where vLLM's processes and torch.distributed's meet.
ENVIRONMENT = {ALONE: "1", "VLLM_HOST_IP": ADDRESS, "GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}


def keep_address(module: ModuleType) -> None:
    """``ray._private.services``: the address that ``ray.init`` is given is the node's."""
    resolve = module.resolve_ip_for_localhost

    def keep(host: str) -> str:
        return host if os.environ.get(ALONE) else str(resolve(host))  # asked now: a fork has got its environment late

    module.resolve_ip_for_localhost = keep  # type: ignore[attr-defined]


def bind_store(module: ModuleType) -> None:
    """``torch.distributed.rendezvous``: the store listens where its clients look for it, and not everywhere."""
    store = module.TCPStore

    def create(host_name: str, port: int, **kwargs: Any) -> Any:
        if not kwargs.get("is_master") or host_name != ADDRESS:
            return store(host_name=host_name, port=port, **kwargs)
        listener = socket.create_server((host_name, port), backlog=2048)
        kwargs["master_listen_fd"] = listener.fileno()
        made = store(host_name=host_name, port=listener.getsockname()[1], **kwargs)
        listener.detach()  # the store closes it
        return made

    module.TCPStore = create  # type: ignore[attr-defined]

"""What Ray and torch bind: on one machine its loopback address alone, on several the address that each has in the run.

Left alone, they would bind all addresses.

Ray binds 127.0.0.1 wherever that is the node's address, but does not take it as such: ``resolve_ip_for_localhost``
(ray/_private/services.py) puts the address of the way out in its place.
"""

import errno
import ipaddress
import logging
import os
import socket
from pathlib import Path
from types import ModuleType
from typing import Any

ADDRESS = "127.0.0.1"
ALONE = "KIT_ALONE"  # env var: the run has this machine only
# Where vLLM's processes and torch.distributed's meet.
GLOO, NCCL = "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"
ENVIRONMENT = {ALONE: "1", "VLLM_HOST_IP": ADDRESS, GLOO: "lo", NCCL: "lo"}
NCCL_FILES = ("/etc/nccl.conf", "~/.nccl.conf")  # an env var goes before them

logger = logging.getLogger(__name__)


def keep_address(module: ModuleType) -> None:
    """``ray._private.services``: the address that ``ray.init`` is given is the node's."""
    resolve = module.resolve_ip_for_localhost

    def keep(host: str) -> str:
        return host if os.environ.get(ALONE) else str(resolve(host))  # asked now: a fork has got its environment late

    module.resolve_ip_for_localhost = keep  # type: ignore[attr-defined]


def bind_store(module: ModuleType) -> None:
    """``torch.distributed.rendezvous``: the store listens where its clients look for it, and not everywhere.

    verl gives it the address that Ray knows of the machine of rank 0.
    """
    store = module.TCPStore

    def create(host_name: str, port: int, **kwargs: Any) -> Any:
        listener = _listener(host_name, port) if kwargs.get("is_master") else None
        if listener is None:
            return store(host_name=host_name, port=port, **kwargs)
        kwargs["master_listen_fd"] = listener.fileno()
        tcp_store = store(host_name=host_name, port=listener.getsockname()[1], **kwargs)
        listener.detach()  # the store closes it
        return tcp_store

    module.TCPStore = create  # type: ignore[attr-defined]


def _listener(host: str, port: int) -> socket.socket | None:
    """Return what listens at ``host`` alone; None where torch has to do it, at all addresses."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:  # a name, which may be another address on another machine
        return None
    try:
        family = socket.AF_INET if version == 4 else socket.AF_INET6
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:  # behind an address translation
            logger.warning("torch's store listens at all addresses: %s is not an address of this machine", host)
        elif error.errno != errno.EADDRINUSE:  # by a store of this process, which torch shares; or torch says so
            raise
        return None


def use_interface() -> None:
    """Have gloo and NCCL listen at the interface by which Ray knows this machine, unless another one is named.

    Gloo would take what the host's name stands for (127.0.1.1 on Debian), NCCL all interfaces but loopback.
    """
    from ray.util import get_node_ip_address

    name = _interface_of(get_node_ip_address().strip("[]"))
    if not name:
        return
    os.environ.setdefault(GLOO, name)
    if not any(_mentions(Path(file).expanduser(), NCCL) for file in NCCL_FILES):
        os.environ.setdefault(NCCL, f"={name.partition(':')[0]}")  # "=": this name, and none that begins with it


def _interface_of(address: str) -> str:
    import psutil  # not in every process that this module is imported in

    for name, addresses in psutil.net_if_addrs().items():
        if any(known.address.partition("%")[0] == address for known in addresses):
            return str(name)
    return "lo" if address.startswith("127.") else ""  # all of 127.0.0.0/8 is there, though one address is named


def _mentions(file: Path, name: str) -> bool:
    try:
        return name in file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False

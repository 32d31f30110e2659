"""Which addresses torch's store listens at, and which interface gloo and NCCL are given."""

import os
import socket
from datetime import timedelta
from types import SimpleNamespace

import psutil
import pytest
import ray.util
from torch.distributed import TCPStore

from tests.support.ports import free_port
from trainer.workers import loopback


def listens(port: int) -> set[str]:
    own = psutil.Process().net_connections("inet")
    return {each.laddr.ip for each in own if each.status == psutil.CONN_LISTEN and each.laddr.port == port}


def patched() -> SimpleNamespace:
    module = SimpleNamespace(TCPStore=TCPStore)
    loopback.bind_store(module)  # type: ignore[arg-type]
    return module


def make(module: SimpleNamespace, host: str, port: int, master: bool) -> TCPStore:
    """A store as ``torch.distributed.rendezvous`` makes it."""
    options = {"is_master": master, "multi_tenant": True, "use_libuv": True, "timeout": timedelta(seconds=10)}
    return module.TCPStore(host_name=host, port=port, world_size=2, wait_for_workers=False, **options)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "::1"])
def test_a_store_listens_at_the_address_of_its_machine_alone(address) -> None:
    if address == "::1" and loopback._interface_of(address) != "lo":
        pytest.skip("a kernel without IPv6")
    module, port = patched(), free_port()
    master = make(module, address, port, True)
    assert listens(port) == {address}
    make(module, address, port, False).set("key", "value")
    assert master.get("key") == b"value"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.3", port), timeout=5)


def test_torch_alone_listens_at_all_addresses() -> None:
    """Else the test above tests nothing."""
    port = free_port()
    store = make(SimpleNamespace(TCPStore=TCPStore), "127.0.0.1", port, True)
    assert listens(port) <= {"::", "0.0.0.0"}
    assert store.port == port


def test_two_stores_of_a_process_at_one_port_are_one_as_torch_has_it() -> None:
    module, port = patched(), free_port()
    first, second = (make(module, "127.0.0.1", port, True) for _ in range(2))
    first.set("key", "value")
    assert second.get("key") == b"value"
    assert listens(port) == {"127.0.0.1"}


def test_an_address_that_is_translated_is_left_to_torch_and_said(caplog) -> None:
    assert loopback._listener("198.51.100.1", free_port()) is None  # RFC 5737: nobody has it
    assert "all addresses: 198.51.100.1 is not an address of this machine" in caplog.text
    assert loopback._listener("a-name", free_port()) is None


@pytest.fixture
def environ(monkeypatch, tmp_path) -> dict[str, str]:
    """An environment in which no interface is named, on a machine that Ray knows by 127.0.0.2."""
    monkeypatch.setattr(loopback, "NCCL_FILES", (str(tmp_path / "nccl.conf"),))
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "127.0.0.2")
    own = {name: value for name, value in os.environ.items() if name not in (loopback.GLOO, loopback.NCCL)}
    monkeypatch.setattr(os, "environ", own)
    return own


def test_gloo_and_nccl_are_given_the_interface_of_the_machines_address(environ) -> None:
    loopback.use_interface()
    assert (environ[loopback.GLOO], environ[loopback.NCCL]) == ("lo", "=lo")


def test_every_address_of_this_machine_has_its_interface() -> None:
    for name, addresses in psutil.net_if_addrs().items():
        for each in addresses:
            if each.family == socket.AF_INET:
                assert loopback._interface_of(each.address) == name
    assert loopback._interface_of("198.51.100.1") == ""


def test_what_a_person_has_named_is_kept(environ, tmp_path) -> None:
    environ[loopback.GLOO] = "eth7"
    (tmp_path / "nccl.conf").write_text(f"{loopback.NCCL}=ib0\n")
    loopback.use_interface()
    assert environ[loopback.GLOO] == "eth7"
    assert loopback.NCCL not in environ

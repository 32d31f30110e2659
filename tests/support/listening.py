"""The listening sockets of a run that goes on, and strangers at all of them."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from pathlib import Path

import psutil

from tests.attacks.ports import attack

AT_ONCE = 12


@dataclass
class Attack:
    """What was found in a run, and what became of it."""

    sockets: dict[tuple[str, int], str] = field(default_factory=dict)  # address and port; the process
    answers: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def outside(self) -> dict[tuple[str, int], str]:
        """The sockets that another machine reaches."""
        return {at: name for at, name in self.sockets.items() if not _is_loopback(at[0])}

    def make(self, trace: Path) -> None:
        """Look for the sockets of all that this process has started, and attack them."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                name = " ".join(process.cmdline())[:120]
                for each in process.net_connections("inet"):
                    if each.status == psutil.CONN_LISTEN:
                        self.sockets[each.laddr.ip, each.laddr.port] = name
        with ThreadPoolExecutor(AT_ONCE) as pool:
            places = list(self.sockets)
            for place, answer in zip(places, pool.map(lambda at: attack(at[0], at[1], trace), places), strict=True):
                self.answers[place] = answer


def _is_loopback(text: str) -> bool:
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback


@contextmanager
def attacked(log: Path, awaited: str, trace: Path, found: Attack) -> Iterator[None]:
    """Attack the run with ``log`` as soon as ``awaited`` stands there; ``trace`` is what a pickle makes."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            time.sleep(0.3)
            if log.exists() and awaited in log.read_text():
                found.make(trace)
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

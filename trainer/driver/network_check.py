"""Before anything is loaded: does the object store reach every machine, and do they reduce together, and how fast?

An all-reduce that never ends is what a wrong network interface looks like, some ten minutes into a run. Here it is one
line after a minute.
"""

import datetime
import os
import socket
import time
from typing import Any

import numpy as np
import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from reward.support import events

SIZE = 32 << 20  # bytes
ROUNDS = 3  # the first of which opens connections
COLLECTIVE_TIMEOUT = 60  # seconds
LOADING = 120  # seconds for processes to start, and to import torch


class LinkError(Exception):
    """The machines of a run do not reach one another."""


def run(trainer: Any) -> None:
    """Check the machines of verl's ``trainer`` section, if there are several; print and record what was measured.

    Raises:
        LinkError: they do not reach one another.
    """
    if trainer.nnodes > 1:
        text = check(trainer.nnodes, trainer.n_gpus_per_node, trainer.device == "cuda")
        print(text, flush=True)
        events.emit("driver", "network", text=text)


def check(nodes: int, per_node: int, cuda: bool) -> str:
    """Return what was measured between the first ``nodes`` machines that have ``per_node`` GPUs.

    Raises:
        LinkError: there are not so many, or they do not reach one another.
    """
    machines = _machines(nodes, per_node)
    store = [_store(machine) for machine in machines]
    try:
        seconds = _reduce(machines, cuda)
    except (RayError, GetTimeoutError) as error:
        text = str(error).strip().splitlines()[-1][:200]
        how = "NCCL_SOCKET_IFNAME" if cuda else "GLOO_SOCKET_IFNAME"
        addresses = ", ".join(machine["NodeManagerAddress"] for machine in machines)
        raise LinkError(
            f"{addresses}: no all-reduce between them ({text}); name the "
            f"network interface that they share in {how}, and open their ports to one another"
        ) from None
    moved = 2 * (nodes - 1) / nodes * SIZE  # bytes that each machine sends in a ring
    return (
        f"between the machines: object store {_rate(2 * SIZE / max(store))} there and back, "
        f"all-reduce {_rate(moved / seconds)} a machine ({'NCCL' if cuda else 'gloo'})"
    )


def _rate(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e9:.2f} GB/s"


def _machines(nodes: int, per_node: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + COLLECTIVE_TIMEOUT
    while True:
        fitting = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("GPU", 0) >= per_node]
        if len(fitting) >= nodes:
            return sorted(fitting, key=lambda node: str(node["NodeManagerAddress"]))[:nodes]
        if time.monotonic() > deadline:
            raise LinkError(f"Ray has {len(fitting)} machines with {per_node} GPUs each, and NNODES asks for {nodes}")
        time.sleep(1)


def on(machine: dict[str, Any], gpus: int = 0) -> dict[str, Any]:
    """Return Ray's options of what is to run on a machine, one of ``ray.nodes()``."""
    strategy = NodeAffinitySchedulingStrategy(machine["NodeID"], soft=False)
    return {"scheduling_strategy": strategy, "num_cpus": 0, "num_gpus": gpus}


def _store(machine: dict[str, Any]) -> float:
    """Return the seconds of an object's way to a machine and back."""
    back = ray.remote(max_retries=0)(_copy).options(**on(machine))
    seconds = 0.0
    for _ in range(2):  # the first starts a process
        stored = ray.put(np.random.default_rng(0).integers(0, 255, SIZE, dtype=np.uint8))
        start = time.perf_counter()
        try:
            ray.get(back.remote(stored), timeout=LOADING)
        except (RayError, GetTimeoutError) as error:
            text = str(error).strip().splitlines()[-1][:200]
            raise LinkError(
                f"{machine['NodeManagerAddress']}: Ray's object store does not reach it ({text}); open its ports to "
                "the other machines"
            ) from None
        seconds = time.perf_counter() - start
    return seconds


def _copy(array: Any) -> Any:
    return array.copy()


def _reduce(machines: list[dict[str, Any]], cuda: bool) -> float:
    """Return the seconds of an all-reduce: the slowest machine's fastest round but the first."""
    first = ray.remote(max_retries=0)(_address).options(**on(machines[0]))
    init_method = ray.get(first.remote(machines[0]["NodeManagerAddress"]), timeout=LOADING)
    join = [ray.remote(max_retries=0)(_take_part).options(**on(machine, int(cuda))) for machine in machines]
    tasks = [task.remote(init_method, rank, len(join), cuda) for rank, task in enumerate(join)]
    return float(max(ray.get(tasks, timeout=LOADING + COLLECTIVE_TIMEOUT)))


def _address(ip_address: str) -> str:
    with socket.create_server((ip_address, 0)) as server:
        return f"tcp://{ip_address}:{server.getsockname()[1]}"


def _take_part(init_method: str, rank: int, world: int, cuda: bool) -> float:
    import torch
    from torch import distributed

    os.environ.setdefault("NCCL_DEBUG", "WARN")
    limit = datetime.timedelta(seconds=COLLECTIVE_TIMEOUT)
    backend = "nccl" if cuda else "gloo"
    distributed.init_process_group(backend, init_method=init_method, rank=rank, world_size=world, timeout=limit)
    try:
        values = torch.ones(SIZE // 4, device="cuda" if cuda else "cpu")
        taken = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            distributed.all_reduce(values)
            values[0].item()  # waits for the GPU
            taken.append(time.perf_counter() - start)
        if values[0].item() != world**ROUNDS:
            raise ArithmeticError(f"{world} machines add up {values[0].item()} for {world**ROUNDS}")
        return float(min(taken[1:]))
    finally:
        distributed.destroy_process_group()

"""What a stranger sends to a port of a run; a line of ``STRANGERS``, ``BYTES`` or ``CALLS`` is one more try."""

import contextlib
import os
import pickle
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import zmq
from transfer_queue.utils.serial_utils import encode


class Evil:
    """Makes a file where it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, (str(self.trace),)


@dataclass(frozen=True)
class Stranger:
    """How a ZeroMQ socket without the secret presents itself."""

    identity: bytes = b""
    curve: bool = False  # keys of its own, and the true server's public key where the test has it
    kind: int = zmq.DEALER


STRANGERS = {
    "plain": Stranger(),
    "storage manager": Stranger(b"TQ_STORAGE_manager_to_unit_0"),  # the prefix that a storage unit looks for
    "metrics collector": Stranger(b"metrics_collector_0"),
    "another key": Stranger(b"TQ_STORAGE_manager_to_unit_0", curve=True),
    "request": Stranger(b"TQ_STORAGE_request", kind=zmq.REQ),
}
BYTES: dict[str, Callable[[Path], bytes]] = {
    "junk": lambda trace: os.urandom(4096),
    "HTTP": lambda trace: b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "HTTP POST": lambda trace: b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
    "HTTP with a pickle": lambda trace: (
        b"POST /collective_rpc HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(pickle.dumps(Evil(trace))), pickle.dumps(Evil(trace)))
    ),
    "HTTP/2": lambda trace: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "pickle": lambda trace: pickle.dumps(Evil(trace)),
    "a long pickle": lambda trace: len(pickle.dumps(Evil(trace))).to_bytes(4, "big") + pickle.dumps(Evil(trace)),
    "nothing": lambda trace: b"",
}

# gRPC methods of Ray's that run code, end a part or hand out what is kept; an empty message is a request to each.
CALLS = (
    "ray.rpc.InternalKVGcsService/InternalKVKeys",
    "ray.rpc.InternalKVGcsService/InternalKVPut",
    "ray.rpc.JobInfoGcsService/GetAllJobInfo",
    "ray.rpc.NodeManagerService/GetNodeStats",
    "ray.rpc.NodeManagerService/GetSystemConfig",
    "ray.rpc.NodeManagerService/ShutdownRaylet",
    "ray.rpc.CoreWorkerService/GetCoreWorkerStats",
    "ray.rpc.CoreWorkerService/PushTask",
    "ray.rpc.CoreWorkerService/Exit",
    "ray.rpc.ObjectManagerService/Push",
    "ray.rpc.RuntimeEnvGcsService/PinRuntimeEnvURI",
    "ray.rpc.ReporterService/GetTraceback",
    "ray.rpc.ReporterService/ReportOCMetrics",
    "ray.rpc.events.EventAggregatorService/AddEvents",
    "opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "ray.rpc.RayletDriver/Init",  # Ray Client's: it unpickles
    "ray.rpc.RayletDriver/ClusterInfo",
)
NO_GRPC = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def call(host: str, port: int, token: str = "") -> dict[str, str]:
    """Call each of ``CALLS`` with a token that is not the run's, or none; return the status of each answer.

    Where no gRPC server listens, it is asked once, and nothing is returned.
    """
    shown = (("authorization", f"Bearer {token}"),) if token else ()
    statuses = {}
    with grpc.insecure_channel(f"[{host}]:{port}" if ":" in host else f"{host}:{port}") as channel:
        for method in CALLS:
            code = grpc.StatusCode.OK
            try:
                channel.unary_unary(f"/{method}")(b"", timeout=3, metadata=shown)
            except grpc.RpcError as error:
                code = error.code()
            if code in NO_GRPC:
                break
            statuses[method] = code.name
    return statuses


def send(stranger: Stranger, address: str, trace: Path, server_key: bytes = b"") -> None:
    """Send the pickle that makes ``trace``, as TransferQueue itself would pack it; nobody need answer."""
    with zmq.Context() as context, context.socket(stranger.kind) as connection:
        connection.linger, connection.sndtimeo = 500, 1000
        if stranger.identity:
            connection.identity = stranger.identity
        if stranger.curve:
            connection.curve_publickey, connection.curve_secretkey = zmq.curve_keypair()
            connection.curve_serverkey = server_key or zmq.curve_keypair()[0]
        connection.ipv6 = True
        connection.connect(address)
        with contextlib.suppress(zmq.ZMQError):
            connection.send_multipart([bytes(frame) for frame in encode({"request_type": "PUT", "body": Evil(trace)})])
        time.sleep(0.3)


def attack(host: str, port: int, trace: Path) -> str:
    """Send all of it to one port, whatever listens there; return what it said first to each of ``BYTES``."""
    answers = []
    for name, make in BYTES.items():
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=2) as connection:
            connection.settimeout(0.3)
            connection.sendall(make(trace))
            answers.append(f"{name}: {connection.recv(64)!r}")
    for stranger in STRANGERS.values():
        send(stranger, f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}", trace)
    return "; ".join(answers)

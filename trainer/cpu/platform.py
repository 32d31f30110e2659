"""The CPU as a platform of verl (``verl.plugin.platform``): one "device" a Ray slot."""

import resource
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


def peak_memory(*_: Any) -> int:
    """Return the peak resident memory of this process in bytes, which verl reports as allocated."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def build_device_module() -> types.ModuleType:
    """Return what verl uses of ``torch.cuda``, for the CPU; the rest falls through to ``torch.cpu``."""
    module = types.ModuleType("trainer.cpu.device")
    module.__dict__["__getattr__"] = lambda name: getattr(torch.cpu, name)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        setattr(module, name, peak_memory)
    for name in ("reset_peak_memory_stats", "empty_cache", "ipc_collect"):
        setattr(module, name, lambda *args, **kwargs: None)
    functions: dict[str, Any] = {
        "is_available": lambda: True,
        "get_device_name": lambda *args: "cpu",
        "mem_get_info": lambda *args: (_memory("MemAvailable"), _memory("MemTotal")),
        "manual_seed": torch.manual_seed,
        "manual_seed_all": torch.manual_seed,
        "get_rng_state": lambda *args: torch.get_rng_state(),
        "set_rng_state": lambda state, *args: torch.set_rng_state(state),
    }
    for name, function in functions.items():
        setattr(module, name, function)
    return module


def _memory(field: str) -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):  # type: ignore[misc]
    """Ray's resource "GPU" stays the unit of placement, as verl counts nothing else: Ray gets slots for it."""

    device_name = vendor_name = "cpu"
    device_module = build_device_module()

    def is_available(self) -> bool:
        """There is always a CPU."""
        return True

    def current_device(self) -> str:
        """What verl hands to ``tensor.to``: "cpu" has no index."""
        return "cpu"

    def device_count(self) -> int:
        """One a process."""
        return 1

    def set_device(self, device_index: int) -> None:
        """There is none to choose."""

    def synchronize(self, device_index: int | None = None) -> None:
        """The CPU is never ahead of the program."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """The host's allocator has none of these."""

    def empty_cache(self) -> None:
        """There is no cache."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """A CPU has no CUDA capability."""
        return (None, None)

    def communication_backend_name(self) -> str:
        """Collectives between processes."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """The variable that Ray sets for its "GPU" slots."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """No profiler ranges."""
        yield

    def profiler_start(self) -> None:
        """No profiler."""

    def profiler_stop(self) -> None:
        """No profiler."""

    def ray_resource_name(self) -> str:
        """See the class."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Keep Ray's hands off the variable."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """No: weights reach vLLM through shared memory."""
        return False

    def cudart(self) -> None:
        """No CUDA runtime."""

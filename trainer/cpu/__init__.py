"""verl and vLLM on a machine with no GPU: a platform through verl's registry, and what must be patched.

``verl_plugin`` and ``vllm_plugin`` are entry points that both load in every process. Unless ``VERL_PLATFORM``
is ``cpu`` they do nothing.
"""

import os

# Env vars of processes that compute here, read when they start or their libraries are loaded.
ENVIRONMENT = {
    # A thread that waits in a loop holds up the others' processes on few cores; for 0.1 ms it is not worth a sleep.
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "10000",
    # glibc keeps what is freed: else each pass maps its tensors anew, and the kernel fills them with zeros.
    "MALLOC_ARENA_MAX": "1",  # threads beside the first have another one, where blocks above 64 MiB are always mapped
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
}


def active() -> bool:
    """Whether this process belongs to a run on the CPU platform."""
    return os.environ.get("VERL_PLATFORM") == "cpu"

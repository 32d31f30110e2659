"""What no extension point of verl reaches. Each names the upstream line it is for.

``tests/test_cpu_patches.py`` fails for each on the day upstream no longer needs it.
"""

from types import ModuleType
from typing import Any

from trainer.import_hook import Action


def process_group_backend(module: ModuleType) -> None:
    """verl/utils/distributed.py, ``backend or f"cpu:gloo,{get_device_name()}:..."``: that names cpu twice here."""
    original = module.initialize_global_process_group_ray

    def initialize(timeout_second: int | None = None, backend: str | None = None) -> Any:
        return original(timeout_second, backend or "cpu:gloo")

    module.initialize_global_process_group_ray = initialize  # type: ignore[attr-defined]


def reference_offload(module: ModuleType) -> None:
    """verl/workers/engine/fsdp/transformer_impl.py, ``CPUOffloadPolicy(pin_memory=True)``: no device to pin for."""
    original = module.CPUOffloadPolicy

    def policy(pin_memory: bool = False) -> Any:
        return original(pin_memory=False)

    module.CPUOffloadPolicy = policy  # type: ignore[attr-defined]


def rollout_weights(module: ModuleType) -> None:
    """vllm/model_executor/layers/utils.py, ``dispatch_cpu_unquantized_gemm(layer, remove_weight=True)``.

    vLLM repacks linear weights and drops the originals, so that the next weight sync finds nothing to load into.
    """
    original = module.dispatch_cpu_unquantized_gemm

    def dispatch(layer: Any, remove_weight: bool) -> None:
        original(layer, remove_weight=False)

    module.dispatch_cpu_unquantized_gemm = dispatch  # type: ignore[attr-defined]


def rollout_waits(module: ModuleType) -> None:
    """vllm/distributed/device_communicators/shm_broadcast.py, ``busy_loop_s: float = 1``.

    vLLM's processes look for messages in a loop for a second after each, on the cores that the update needs by then.
    """
    original = module.SpinCondition.record_read

    def record_read(self: Any) -> None:
        original(self)
        self.busy_loop_s = 0.002  # then a notification wakes the process

    module.SpinCondition.record_read = record_read


VERL_PATCHES: dict[str, Action] = {
    "verl.utils.distributed": process_group_backend,
    "verl.workers.engine.fsdp.transformer_impl": reference_offload,
}

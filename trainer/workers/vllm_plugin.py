"""Entry point ``vllm.general_plugins``: called by vLLM in each of its processes, on every device."""

from trainer.runs import stack_dump
from trainer.workers.post_import import after_import
from trainer.workers.rollout import message_queue

_done = False


def register() -> None:
    """Patch vLLM, once a process; vLLM may call this more often."""
    global _done
    if _done:
        return
    _done = True
    stack_dump.register()
    after_import({"vllm.distributed.device_communicators.shm_broadcast": message_queue.patch})

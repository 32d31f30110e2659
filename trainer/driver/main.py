"""verl's entry point: says when Ray is up, and keeps the task runner on the head node of a Ray that the kit starts.

verl/trainer/main_ppo.py, ``@ray.remote class TaskRunnerV1``: Ray gives an actor that asks for nothing to any node. The
run's files are on the head node.
"""

import os
from typing import Any

import ray
from verl.trainer import main_ppo

from reward.support import events

HEAD = {"node:__internal_head__": 0.001}  # a resource that Ray's head node alone has
ANY_NODE = "KIT_ANY_NODE"  # env var of trainer/launch/environment.py: the Ray cluster was there before


def main() -> None:
    """Run verl, as ``python -m verl.trainer.main_ppo`` does."""
    if not os.environ.get(ANY_NODE):
        main_ppo.TaskRunnerV1 = main_ppo.TaskRunnerV1.options(resources=HEAD)
    connect = ray.init

    def init(*args: Any, **kwargs: Any) -> Any:
        context = connect(*args, **kwargs)
        events.emit("driver", "phase", name="ray_started")
        return context

    ray.init = init
    main_ppo.main()


if __name__ == "__main__":
    main()

"""verl's entry point with its task runner on machine 0, whose files it reads and writes.

verl/trainer/main_ppo.py, ``@ray.remote class TaskRunnerV1``: Ray gives an actor that asks for nothing to any machine.
"""

from verl.trainer import main_ppo

HEAD = {"node:__internal_head__": 0.001}  # a resource that Ray's first machine alone has


def main() -> None:
    """Run verl, as ``python -m verl.trainer.main_ppo`` does."""
    main_ppo.TaskRunnerV1 = main_ppo.TaskRunnerV1.options(resources=HEAD)
    main_ppo.main()


if __name__ == "__main__":
    main()

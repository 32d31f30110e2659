"""vLLM on devices of its own (``--async separate``): it samples the next batch while the others train on this one.

As verl's ``separate_async``, with a batch a step and without its lending of the trainer's devices to vLLM: requests are
not cut off, but under way until they are answered, and only then new weights are sent::

    trainer   updates with t            | weights ->  | updates with t+1
    vLLM      samples t+1               | <- weights  | samples t+2

What is sampled, scored and trained on in which step is that of ``trainer.driver.ahead.overlap``.
"""

from typing import Any

from verl.checkpoint_engine import CheckpointEngineManager
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.llm_server import LLMServerManager

from trainer.algorithm.options import SEPARATE, AlgorithmOptions


class OwnRollout(PPOTrainerSync):  # type: ignore[misc]
    """verl's synchronous trainer, whose vLLM is where the options say."""

    options: AlgorithmOptions

    @property
    def has_own_rollout(self) -> bool:
        """Whether vLLM has devices of its own."""
        return self.options.sampling == SEPARATE

    def _init_resource_pool_mgr(self) -> None:
        """Have verl start no vLLM on the trainer's devices; actor and reference stay in one process all the same."""
        super()._init_resource_pool_mgr()
        self._enable_hybrid_replicas = not self.has_own_rollout

    def _setup(self) -> None:
        super()._setup()
        if not self.has_own_rollout:
            return
        self.llm_server_manager = LLMServerManager.create(config=self.config)
        self.checkpoint_manager = CheckpointEngineManager(
            config=omega_conf_to_dataclass(self.config.actor_rollout_ref.rollout.checkpoint_engine),
            actor_wg=self.actor_rollout_wg,
            replicas=self.llm_server_manager.get_replicas(),
        )

    def _get_n_gpus_for_throughput(self) -> Any:
        rollout = self.config.actor_rollout_ref.rollout
        own = rollout.nnodes * rollout.n_gpus_per_node if self.has_own_rollout else 0
        return super()._get_n_gpus_for_throughput() + own

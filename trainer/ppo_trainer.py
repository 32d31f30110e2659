"""The kit's PPO trainer: verl's synchronous V1 trainer, under its own name (``trainer.v1.trainer_mode``)."""

from typing import Any

from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync


@register_trainer("ppo_kit")
class KitPPOTrainer(PPOTrainerSync):  # type: ignore[misc]
    """As ``sync``, with a critic that works beside LoRA and a reference policy."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.trainer_mode = "sync"  # verl takes every other name for an asynchronous trainer

    def _compute_ref_log_prob(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Compute the reference; then take back the order to switch adapters off, which verl leaves to the critic.

        verl/trainer/ppo/v1/trainer_base.py, ``metadata["no_lora_adapter"] = True``: the critic has no adapters, and
        dies of it with ``AttributeError: ... no attribute 'disable_adapter'``.
        """
        batch = super()._compute_ref_log_prob(batch, metrics=metrics)
        batch.extra_info.pop("no_lora_adapter", None)
        return batch

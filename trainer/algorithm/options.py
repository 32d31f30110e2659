"""What ``trainer.v1.ppo_kit`` of the configuration says: the settings that verl has no key for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OFF, OVERLAP, SEPARATE = "off", "overlap", "separate"  # --async


@dataclass(frozen=True)
class AlgorithmOptions:
    """Each default leaves verl's PPO as it is."""

    reward_clip: float | None = None
    reward_norm: str = "none"
    reward_shift: bool = False
    reward_scale: bool = False
    whiten_advantages: bool = True
    advantage_clip: float | None = None
    kl_level: str = "token"
    gae_level: str = "token"
    target_kl: float | None = None
    value_loss: str = "squared"
    huber_delta: float = 0.5
    sampling: str = OFF  # the others: ahead of the updates, by at most ``max_staleness`` steps; SEPARATE: elsewhere
    max_staleness: int = 1
    keep: int = 2  # checkpoints
    keep_best: bool | str = False  # and the one with the highest held-out score; "audit": by the audit's
    nodes_without_shared_output: Sequence[
        str
    ] = ()  # addresses of machines that do not see the checkpoints of the head node
    audit: str = ""  # a ``reward.audit.AuditSpec`` as JSON
    audit_freq: int = 5  # steps
    audit_size: int = 32  # answers
    dump: str | None = None  # a folder: each step's batch is saved there, for tests and for a look

    @classmethod
    def of(cls, config: Any) -> "AlgorithmOptions":
        """Read the options from verl's whole configuration; a missing sub-tree is all defaults."""
        tree = config.trainer.v1.get("ppo_kit", None) or {}
        return cls(**{str(key): value for key, value in tree.items()})

    @property
    def shapes_rewards(self) -> bool:
        """Whether the scores are changed before the KL penalty."""
        return self.reward_norm != "none" or self.reward_clip is not None

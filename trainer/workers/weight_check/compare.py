"""After each weight sync: are the weights that vLLM samples with the actor's own?

Both sides are asked after the sync, by calls that have no part in it, so that one that was left out shows as well.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import ray

from trainer.workers.weight_check.checksum import MODULUS, Sum

NAMED = 5  # weights that are named in the log
logger = logging.getLogger(__name__)


class WeightCheck:
    """Compares checksums; what cannot be compared is left out, and told once.

    With ``model.lora.merge`` nothing is: verl sends weights with the adapters in them, rounded to bfloat16, which the
    actor nowhere has.
    """

    def __init__(self, adapters: bool, merged: bool = False) -> None:
        self._adapters, self._merged, self._logged = adapters, merged, False  # how LoRA's adapters go to vLLM
        self.metrics: dict[str, float] = {}  # how many weights were compared, and how many are not the actor's

    @classmethod
    def of(cls, model: Any) -> "WeightCheck":
        """Return the check of a run with ``actor_rollout_ref.model``."""
        rank = max(int(model.get("lora_rank", 0) or 0), int((model.get("lora") or {}).get("rank", 0) or 0))
        merged = bool((model.get("lora") or {}).get("merge", False))
        return cls(rank > 0 and not merged, rank > 0 and merged)

    def look(self, servers: Sequence[Any], actor: Any, step: int) -> None:
        """Compare; ``metrics`` has what came of it.

        Args:
            servers: vLLM's, as Ray actors.
            actor: the actor's worker group.
            step: which of the rows of large weights are compared.
        """
        if self._merged:
            return
        try:
            answers = ray.get([server.weight_sums.remote(step) for server in servers])
            sampled = [held for workers in answers for held in with_wholes(workers)]
            dtypes = {name: total.dtype for worker in sampled for name, total in worker.items()}
            if self._adapters:
                dtypes[""] = next((dtype for name, dtype in dtypes.items() if "lora_" in name), "float32")
            actor_sums = added(actor.weight_sums(dtypes, step))
        except Exception:  # a check ends no run
            if not self._logged:
                logger.exception("vLLM's weights cannot be compared with the actor's")
            self._logged = True
            self.metrics = {}
            return
        compared, stale = compare(actor_sums, sampled, step > 0)
        if stale:
            names = ", ".join(stale[:NAMED])
            logger.error("step %d: vLLM samples with other weights than the actor's: %s", step, names)
        self.metrics = {"sync/compared_weights": float(compared), "sync/stale_weights": float(len(stale))}


def added(parts: Sequence[Mapping[str, Sum]]) -> dict[str, Sum]:
    """Return the checksums of whole weights, from the shares of all ranks."""
    whole: dict[str, Sum] = {}
    for part in parts:
        for name, total in part.items():
            value = total.value + (whole[name].value if name in whole else 0)
            whole[name] = total._replace(value=value % MODULUS)
    return whole


def with_wholes(workers: Sequence[Mapping[str, Sum]]) -> list[Mapping[str, Sum]]:
    """Return what each of a server's workers holds as a whole, with what they hold together."""
    together: dict[str, list[Sum]] = {}
    for worker in workers:
        for name, total in worker.items():
            if total.workers > 1:
                together.setdefault(name, []).append(total)
    wholes = {
        name: parts[0]._replace(value=sum(part.value for part in parts) % MODULUS, workers=1)
        for name, parts in together.items()
        if len(parts) == parts[0].workers
    }
    return [{name: total for name, total in worker.items() if total.workers == 1} | wholes for worker in workers]


def compare(
    actor_sums: Mapping[str, Sum], sampled: Sequence[Mapping[str, Sum]], trained: bool
) -> tuple[int, list[str]]:
    """Return how many weights have been compared, and the names of those that differ on any of vLLM's workers.

    Args:
        actor_sums: the actor's.
        sampled: what vLLM's workers hold (``with_wholes``). A weight of another shape is not compared.
        trained: whether updates were made, so that an adapter must be there.
    """
    compared, stale = set[str](), dict[str, None]()
    for worker in sampled:
        for name, total in actor_sums.items():
            other = worker.get(name)
            if other is None:
                if trained and "lora_" in name and not any("lora_" in name for name in worker):
                    compared.add(name)
                    stale[name] = None
            elif other.shape == total.shape and other.dtype == total.dtype:
                compared.add(name)
                if other.value != total.value:
                    stale[name] = None
    return len(compared), list(stale)

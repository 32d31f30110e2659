"""Update epochs of the actor until its KL from the sampling policy is large enough (``--target_kl``)."""

from collections.abc import Callable
from typing import Any

import numpy as np


def update_until(target_kl: float, actor: Any, update: Callable[..., Any], batch: Any, metrics: dict[str, Any]) -> Any:
    """Make update epochs until one's mean approximate KL from the sampling policy is above ``target_kl``.

    Each epoch is an ``update`` of one epoch for verl, with a seed of its own; ``actor`` is the actor's configuration,
    which is as before when this returns. ``metrics`` get the means over the epochs.
    """
    epochs, seed = actor.ppo_epochs, actor.data_loader_seed
    found: list[dict[str, Any]] = []
    try:
        for epoch in range(epochs):
            actor.ppo_epochs, actor.data_loader_seed = 1, seed + epoch
            found.append({})
            batch = update(batch, metrics=found[-1])
            if found[-1]["actor/ppo_kl"] > target_kl:
                break
    finally:
        actor.ppo_epochs, actor.data_loader_seed = epochs, seed
    metrics.update({name: float(np.mean([each[name] for each in found])) for name in found[0]})
    metrics["actor/update_epochs"] = len(found)
    return batch

"""Batch and mini batch where they are left to the kit: the sizes nearest to the defaults that verl accepts."""

import math
from collections.abc import Mapping

from trainer.settings.knobs import AUTO, Value

FITTED = ("BATCH_SIZE", "MINI_BATCH_SIZE")


def unit(ranks: int, samples: int) -> int:
    """Return the least number of prompts whose ``samples`` each can be shared evenly by ``ranks``."""
    return ranks // math.gcd(ranks, samples)


def nearest_multiple(step: int, target: int) -> int:
    """Return the multiple of ``step`` nearest to ``target``, ``step`` at least; of two, the larger."""
    return max(step, (target + step // 2) // step * step)


def fit(values: dict[str, Value], free: frozenset[str]) -> tuple[str, ...]:
    """Put sizes that fit in the place of those in ``free``, whose values are targets; return what was changed.

    Args:
        values: knobs by env var; changed in place.
        free: those of ``FITTED`` that nobody gave a number for.

    Returns:
        A text for each size that is not its target: "batch 258 for 256".
    """
    numbers = [values[env] for env in ("BATCH_SIZE", "MINI_BATCH_SIZE", "ROLLOUT_N", "N_GPUS", "NNODES")]
    batch, mini, samples, gpus, nodes = (value if isinstance(value, int) else 1 for value in numbers)
    micro = values["MICRO_BATCH_SIZE"]
    step = unit(gpus * nodes, samples)
    minis = unit(gpus * nodes * micro, samples) if isinstance(micro, int) else step
    targets = (batch, mini)
    if "MINI_BATCH_SIZE" in free:
        mini = _mini(minis, mini, None if "BATCH_SIZE" in free else batch)
    if "BATCH_SIZE" in free:
        batch = nearest_multiple(math.lcm(step, mini), batch)
    values["BATCH_SIZE"], values["MINI_BATCH_SIZE"] = batch, mini
    names = ("batch", "mini batch")
    return tuple(
        f"{name} {size} for {target}"
        for name, size, target in zip(names, (batch, mini), targets, strict=True)
        if size != target
    )


def _mini(step: int, target: int, batch: int | None) -> int:
    """Return the mini batch nearest to ``target``: one that divides the batch, which spares verl padding, if any."""
    if batch is None:
        return nearest_multiple(step, target)
    if batch < step:
        return min(target, batch)
    if batch % step:
        return min(nearest_multiple(step, target), batch // step * step)
    sizes = [step * part for part in divisors(batch // step)]
    return min(sizes, key=lambda size: (abs(size - target), -size))


def divisors(number: int) -> list[int]:
    """Return all divisors of ``number``, in the time of its square root: it may be as large as a person types."""
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def free_sizes(values: Mapping[str, Value]) -> frozenset[str]:
    """Return which sizes are to be fitted: those that were not given, or given as ``auto``."""
    return frozenset(env for env in FITTED if values.get(env, AUTO) == AUTO)

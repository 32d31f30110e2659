"""PPO from the formulas: plain loops over Python's floats, sharing no code with the kit, verl or torch.

A batch is a list of rows; a mask is 1 on the tokens that count. What is asked of the kit's functions is that they
give the same numbers on those tokens.
"""

import math

Row = list[float]
Rows = list[list[float]]


def gae(rewards: Rows, values: Rows, mask: Rows, gamma: float, lam: float) -> tuple[Rows, Rows]:
    """A_t = sum over l of (gamma lam)^l delta_{t+l}, over the tokens of the mask alone; 0 on the others."""
    advantages, returns = [], []
    for reward, value, on in zip(rewards, values, mask, strict=True):
        kept = [t for t in range(len(on)) if on[t]]
        row, back = [0.0] * len(on), [0.0] * len(on)
        for i, t in enumerate(kept):
            total = 0.0
            for later in range(i, len(kept)):
                # A reward on a token that is left out does not come in; nor does its value.
                following = value[kept[later + 1]] if later + 1 < len(kept) else 0.0
                delta = reward[kept[later]] + gamma * following - value[kept[later]]
                total += (gamma * lam) ** (later - i) * delta
            row[t], back[t] = total, total + value[t]
        advantages.append(row)
        returns.append(back)
    return advantages, returns


def reinforce(rewards: Rows, mask: Rows, gamma: float) -> Rows:
    out = []
    for reward, on in zip(rewards, mask, strict=True):
        kept = [t for t in range(len(on)) if on[t]]
        row = [0.0] * len(on)
        for i, t in enumerate(kept):
            row[t] = sum(gamma ** (j - i) * reward[kept[j]] for j in range(i, len(kept)))
        out.append(row)
    return out


def grpo(rewards: Rows, mask: Rows, groups: list[str], by_std: bool) -> Rows:
    out = []
    for i in range(len(rewards)):
        others = [sum(rewards[j]) for j in range(len(rewards)) if groups[j] == groups[i] and any(mask[j])]
        score = 0.0
        if any(mask[i]) and len(others) > 1:
            score = sum(rewards[i]) - mean(others)
            if by_std:
                score /= std(others) + 1e-6
        out.append([score * on for on in mask[i]])
    return out


def mean(values: Row) -> float:
    return math.fsum(values) / len(values)


def std(values: Row) -> float:
    """Unbiased; 0 of fewer than two."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def kept(rows: Rows, mask: Rows) -> Row:
    return [x for row, on in zip(rows, mask, strict=True) for x, o in zip(row, on, strict=True) if o]


def whiten(rows: Rows, mask: Rows) -> Rows:
    values = kept(rows, mask)
    if len(values) < 2:
        return [[0.0 for _ in row] for row in rows]
    middle, spread = mean(values), math.sqrt(std(values) ** 2 + 1e-8)
    return [[(x - middle) / spread for x in row] for row in rows]


def clip(x: float, low: float, high: float) -> float:
    return low if x < low else high if x > high else x


def policy_token_loss(ratio: float, advantage: float, low: float, high: float, dual: float | None) -> float:
    objective = min(ratio * advantage, clip(ratio, 1 - low, 1 + high) * advantage)
    if dual is not None and advantage < 0:
        objective = max(objective, dual * advantage)
    return -objective


def value_token_loss(vpred: float, value: float, target: float, limit: float | None, delta: float | None) -> float:
    def loss(error: float) -> float:
        if delta is None or abs(error) <= delta:
            return error * error / 2
        return delta * (abs(error) - delta / 2)

    near = vpred if limit is None else clip(vpred, value - limit, value + limit)
    return max(loss(vpred - target), loss(near - target))


def aggregate(losses: Rows, mask: Rows, mode: str) -> float:
    """0 where no token counts."""
    sequences = [
        [x for x, o in zip(row, on, strict=True) if o] for row, on in zip(losses, mask, strict=True) if any(on)
    ]
    if not sequences:
        return 0.0
    if mode == "token-mean":
        return mean([x for sequence in sequences for x in sequence])
    if mode == "seq-mean-token-mean":
        return mean([mean(sequence) for sequence in sequences])
    total = mean([math.fsum(sequence) for sequence in sequences])
    return total / len(mask[0]) if mode == "seq-mean-token-sum-norm" else total


def kl(log_prob: float, ref_log_prob: float, kind: str) -> float:
    difference = log_prob - ref_log_prob
    if kind == "kl":
        return difference
    if kind == "abs":
        return abs(difference)
    if kind == "mse":
        return difference * difference / 2
    return clip(math.exp(clip(-difference, -20, 20)) + clip(difference, -20, 20) - 1, -10, 10)


def adaptive(coef: float, kl_value: float, samples: int, target: float, horizon: float) -> float:
    return coef * (1 + clip(kl_value / target - 1, -0.2, 0.2) * samples / horizon)


def norm(rewards: Row, counted: list[bool], kind: str, groups: list[str], before: Row, shift: bool, scale: bool) -> Row:
    """``before`` are the rewards of earlier steps, for ``running``."""
    out = []
    for i, reward in enumerate(rewards):
        if not counted[i]:
            out.append(reward)
            continue
        rows = [j for j in range(len(rewards)) if counted[j] and (kind != "group" or groups[j] == groups[i])]
        sample = [rewards[j] for j in rows] + (before if kind == "running" else [])
        middle, spread = mean(sample), std(sample)
        value = reward if scale else reward - middle
        out.append(value if shift or spread == 0 else value / (spread + 1e-6))
    return out

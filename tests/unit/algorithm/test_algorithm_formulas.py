"""The kit's PPO against the formulas: random shapes, masks and types; agreement to 1e-6 in float32."""

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reward.support.moments import RunningMoments
from tests.support import reference_ppo as reference
from trainer.algorithm import advantage, policy_loss, shaping
from trainer.algorithm.kl import estimates as kl
from trainer.algorithm.value_loss import compute_value_loss

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
MODES = ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
TYPES = [torch.float32, torch.float64]


@st.composite
def masks(draw, most: int = 7) -> torch.Tensor:
    """(B, T): right-padded responses, some empty, some of one token, some with tokens left out in the middle."""
    rows, width = draw(st.integers(1, most)), draw(st.integers(1, most))
    lengths = [draw(st.integers(0, width)) for _ in range(rows)]
    mask = [[float(t < length) for t in range(width)] for length in lengths]
    if draw(st.booleans()):
        mask = [[on * draw(st.sampled_from([0.0, 1.0, 1.0])) for on in row] for row in mask]
    return torch.tensor(mask)


def like(mask: torch.Tensor, seed: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(mask.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def agree(ours: torch.Tensor, theirs, mask: torch.Tensor | None = None) -> None:
    """1e-6, of the size of the largest number where that is above 1."""
    expected = torch.tensor(theirs, dtype=torch.float64).reshape(ours.shape)
    if mask is not None:
        ours, expected = ours * mask, expected * mask
    bound = 1e-6 * max(1.0, expected.abs().max().item() if expected.numel() else 0.0)
    torch.testing.assert_close(ours.double(), expected, rtol=0, atol=bound)


def agg(mask: torch.Tensor) -> dict[str, object]:
    """Totals of the batch, as losses.prepare makes them: verl divides 0 by 0 where no token counts."""
    return {"batch_num_tokens": max(1, int(mask.sum())), "global_batch_size": max(1, int(mask.any(-1).sum()))}


@pytest.mark.parametrize("dtype", TYPES)
@QUICK
@given(masks(), st.integers(0, 999), st.floats(0, 1), st.floats(0, 1))
def test_gae(dtype, mask, seed, gamma, lam) -> None:
    rewards, values = like(mask, seed, dtype) * mask.to(dtype), like(mask, seed + 1, dtype)
    ours = advantage.gae(rewards, values, mask.to(dtype), gamma, lam)
    theirs = reference.gae(rewards.tolist(), values.tolist(), mask.tolist(), gamma, lam)
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine.dtype == dtype
        agree(mine, expected, mask)


@QUICK
@given(masks(), st.integers(0, 999), st.floats(0, 1))
def test_reinforce(mask, seed, gamma) -> None:
    rewards = like(mask, seed) * mask
    agree(advantage.reinforce(rewards, mask, gamma)[0], reference.reinforce(rewards.tolist(), mask.tolist(), gamma))


@QUICK
@given(masks(), st.integers(0, 999), st.booleans())
def test_grpo(mask, seed, by_std) -> None:
    rewards = like(mask, seed) * mask
    groups = [str(row // 3) for row in range(len(mask))]
    ours = advantage.grpo(rewards, mask, groups, by_std)[0]
    agree(ours, reference.grpo(rewards.tolist(), mask.tolist(), groups, by_std))


@pytest.mark.parametrize("dtype", TYPES)
@QUICK
@given(masks(), st.integers(0, 999))
def test_whitening(dtype, mask, seed) -> None:
    advantages = like(mask, seed, dtype, 3.0)
    ours = advantage.whiten(advantages, mask.to(dtype))
    agree(ours, reference.whiten(advantages.tolist(), mask.tolist()), mask)


@pytest.mark.parametrize("estimator", advantage.ESTIMATORS)
@pytest.mark.parametrize("whitened", [True, False])
@pytest.mark.parametrize("limit", [None, 0.5])
def test_estimate_puts_them_together(estimator, whitened, limit) -> None:
    mask = torch.tensor([[1.0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]])
    rewards, values, groups = like(mask, 1) * mask, like(mask, 2), ["a", "a", "b", "b"]
    ours = advantage.estimate(
        estimator, rewards, values, mask, groups, gamma=0.9, lam=0.8, whitened=whitened, limit=limit
    )[0]
    rows = [rewards.tolist(), mask.tolist()]
    if estimator == "gae":
        expected = reference.gae(rows[0], values.tolist(), rows[1], 0.9, 0.8)[0]
    elif estimator == "reinforce":
        expected = reference.reinforce(*rows, 0.9)
    else:
        expected = reference.grpo(*rows, groups, True)
    if whitened and estimator != "grpo":
        expected = reference.whiten(expected, rows[1])
    if limit is not None:
        expected = [[reference.clip(x, -limit, limit) for x in row] for row in expected]
    agree(ours, expected, mask)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES)
@QUICK
@given(masks(), st.integers(0, 999), st.sampled_from([math.inf, 3.0, 1.5]), st.floats(0.01, 0.9), st.floats(0.01, 2.0))
def test_policy_loss(mode, dtype, mask, seed, dual, low, high) -> None:
    old, new, advantages = (like(mask, seed + i, dtype) for i in range(3))
    config = SimpleNamespace(
        clip_ratio_low=low, clip_ratio_high=high, clip_ratio_c=dual, clip_ratio=0.2, global_batch_info=agg(mask)
    )
    loss, metrics = policy_loss.compute_policy_loss(old, new, advantages, mask.bool(), mode, config)
    losses, by_clip, by_dual = [], [], []
    for o_row, n_row, a_row in zip(old.tolist(), new.tolist(), advantages.tolist(), strict=True):
        losses.append([])
        for o, n, a in zip(o_row, n_row, a_row, strict=True):
            ratio = math.exp(n - o)
            losses[-1].append(reference.policy_token_loss(ratio, a, low, high, None if math.isinf(dual) else dual))
    agree(loss, reference.aggregate(losses, mask.tolist(), mode))
    for o_row, n_row, a_row, on in zip(old.tolist(), new.tolist(), advantages.tolist(), mask.tolist(), strict=True):
        for o, n, a, counts in zip(o_row, n_row, a_row, on, strict=True):
            if counts:
                ratio = math.exp(n - o)
                by_clip.append(float(ratio < 1 - low if a < 0 else ratio > 1 + high))
                clipped = max(ratio, 1 - low) if a < 0 else 0.0
                by_dual.append(float(a < 0 and clipped > dual))
    if by_clip:
        assert metrics["actor/pg_clipfrac"] == pytest.approx(reference.mean(by_clip), abs=1e-6)
        assert metrics["actor/pg_clipfrac_lower"] == pytest.approx(reference.mean(by_dual), abs=1e-6)


def test_a_dual_clip_of_one_or_less_is_refused() -> None:
    ones = torch.ones(1, 1)
    with pytest.raises(ValueError, match="more than 1"):
        policy_loss.token_losses(ones, ones, 0.2, 0.2, 1.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [None, math.inf, 0.3])
@QUICK
@given(masks(), st.integers(0, 999), st.sampled_from([None, 0.1, 1.0, 10.0]))
def test_value_loss(mode, limit, mask, seed, delta) -> None:
    vpreds, returns, values = (like(mask, seed + i) for i in range(3))
    ours, _ = compute_value_loss(
        vpreds,
        returns,
        values,
        mask.bool(),
        clip=limit,
        huber_delta=delta,
        aggregation={"loss_agg_mode": mode, **agg(mask)},
    )
    rows = zip(vpreds.tolist(), values.tolist(), returns.tolist(), strict=True)
    losses = [[reference.value_token_loss(p, v, r, limit, delta) for p, v, r in zip(*row, strict=True)] for row in rows]
    agree(ours, reference.aggregate(losses, mask.tolist(), mode))


def test_hubers_delta_matters() -> None:
    errors = torch.tensor([0.1, 0.5, 2.0, -9.0])
    squared = compute_value_loss(
        errors, torch.zeros(4), torch.zeros(4), torch.ones(4), clip=None, aggregation={"loss_agg_mode": "token-mean"}
    )[0]

    def huber(delta: float) -> float:
        return compute_value_loss(
            *(errors, torch.zeros(4), torch.zeros(4), torch.ones(4)),
            clip=None,
            huber_delta=delta,
            aggregation={"loss_agg_mode": "token-mean"},
        )[0].item()

    assert huber(10.0) == pytest.approx(squared.item())  # above all errors: RLinf's default
    assert huber(0.5) < huber(1.0) < squared.item()


@pytest.mark.parametrize("kind", list(kl.PENALTIES))
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@QUICK
@given(masks(), st.integers(0, 999))
def test_kl(kind, scale, mask, seed) -> None:
    log_prob, ref = like(mask, seed, scale=scale), like(mask, seed + 1, scale=scale)
    expected = [
        [reference.kl(a, b, kind) for a, b in zip(*rows, strict=True)]
        for rows in zip(log_prob.tolist(), ref.tolist(), strict=True)
    ]
    agree(kl.penalty(log_prob, ref, kind), expected)


@pytest.mark.parametrize("level", kl.LEVELS)
@QUICK
@given(masks(), st.integers(0, 999))
def test_the_price_of_kl(level, mask, seed) -> None:
    scores, kld = like(mask, seed) * mask, like(mask, seed + 1) * mask
    ours = kl.charge(scores, kld, mask, 0.25, level)
    expected = scores.double().tolist()
    for row, prices in enumerate(kld.double().tolist()):
        kept = [t for t in range(mask.shape[1]) if mask[row, t]]
        for t in kept:
            expected[row][t if level == "token" else kept[-1]] -= 0.25 * prices[t]
    agree(ours, expected)


@QUICK
@given(st.lists(st.tuples(st.floats(-1, 5), st.integers(1, 512)), min_size=1, max_size=20))
def test_the_adaptive_coefficient(steps) -> None:
    ours, expected = kl.AdaptiveKL(0.2, 0.1, 1000), 0.2
    for current, samples in steps:
        ours.update(current, samples)
        expected = reference.adaptive(expected, current, samples, 0.1, 1000)
        ours = _again(ours)  # as after a restart
        assert ours.value == pytest.approx(expected, rel=1e-12)


def _again(before: kl.AdaptiveKL) -> kl.AdaptiveKL:
    after = kl.AdaptiveKL(0.2, 0.1, 1000)
    after.load_state_dict(before.state_dict())
    return after


@pytest.mark.parametrize("norm", ["batch", "group", "running"])
@pytest.mark.parametrize(("shift", "scale"), [(False, False), (True, False), (False, True)])
@QUICK
@given(
    st.lists(st.lists(st.tuples(st.floats(-5, 5, width=32), st.booleans()), min_size=1, max_size=8), max_size=4),
)
def test_norms(norm, shift, scale, steps) -> None:
    """Several steps, so that ``running`` has something to run on; the second of each pair is whether it counts."""
    running, before = RunningMoments(), []
    for step in steps:
        rewards = torch.tensor([reward for reward, _ in step])
        counted = [counts for _, counts in step]
        groups = [str(row // 2) for row in range(len(step))]
        ours = shaping.normalise(
            rewards, torch.tensor(counted), norm, groups=groups, running=running, shift=shift, scale=scale
        )
        expected = reference.norm(rewards.tolist(), counted, norm, groups, before, shift, scale)
        if not _nearly_constant(rewards.tolist(), counted, groups, before):
            agree(ours, expected)
        before += [reward for reward, counts in step if counts]
        state = running.state_dict()
        running = RunningMoments()
        running.load_state_dict(state)  # as after a restart
    assert running.count == (len(before) if norm == "running" else 0)


def _nearly_constant(rewards, counted, groups, before) -> bool:
    """A spread of rounding errors alone: there is no right answer to compare with."""
    samples = [[r for r, c, g in zip(rewards, counted, groups, strict=True) if c and g == which] for which in groups]
    samples += [[r for r, c in zip(rewards, counted, strict=True) if c]]
    samples += [samples[-1] + before]
    return any(0 < reference.std(sample) < 1e-6 for sample in samples if sample)


def test_a_constant_reward_is_not_blown_up() -> None:
    ones = torch.ones(4)
    ours = shaping.normalise(ones, ones.bool(), "batch", groups=list("abcd"), running=RunningMoments(), scale=True)
    assert ours.tolist() == [1, 1, 1, 1]


@QUICK
@given(masks(), st.integers(0, 999))
def test_shaped_rewards_go_to_the_last_token(mask, seed) -> None:
    lengths = torch.tensor([int(row.nonzero().max()) + 1 if row.any() else 0 for row in mask])
    scores = like(mask, seed) * (torch.arange(mask.shape[1]) < lengths.unsqueeze(-1))
    wanted = like(mask[:, 0], seed + 1)
    ours = shaping.place(scores, wanted, lengths)
    has_tokens = (lengths > 0).float()
    agree(ours.sum(-1) * has_tokens, (wanted * has_tokens).tolist())
    before_last = torch.arange(mask.shape[1]) < (lengths - 1).unsqueeze(-1)
    assert torch.equal(ours * before_last, scores * before_last)


def test_the_clip_of_rewards() -> None:
    rewards = torch.tensor([-3.0, -0.5, 0.5, 3.0])
    assert shaping.clip(rewards, 1.0).tolist() == [-1.0, -0.5, 0.5, 1.0]
    assert shaping.clip(rewards, None) is rewards

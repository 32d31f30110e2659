"""The mathematics where the answer is known: CartPole-v1 with the kit's own advantages and losses, no engine.

An episode is a row, a time step a token; the two networks are what the actor and the critic are in training.
"""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from trainer.algorithm import advantage
from trainer.algorithm.policy_loss import compute_policy_loss
from trainer.algorithm.value_loss import compute_value_loss

gymnasium = pytest.importorskip("gymnasium")

EPISODES = 16  # a batch
LIMIT = 500  # steps of an episode: CartPole-v1's own
CLIPS = SimpleNamespace(clip_ratio=0.2, clip_ratio_low=0.2, clip_ratio_high=0.2, clip_ratio_c=3.0, global_batch_info={})


def network(outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


@torch.no_grad()
def play(actor: nn.Module, episodes: int, seed: int, greedy: bool = False) -> tuple[torch.Tensor, ...]:
    """Return states (B, T, 4), actions and mask (B, T) of whole episodes."""
    env = gymnasium.make_vec("CartPole-v1", episodes, vectorization_mode="vector_entry_point")
    state, _ = env.reset(seed=seed)
    alive = np.ones(episodes, dtype=bool)
    states, actions, mask = [], [], []
    while alive.any() and len(mask) < LIMIT:
        logits = actor(torch.as_tensor(state, dtype=torch.float32))
        action = logits.argmax(-1) if greedy else torch.multinomial(logits.softmax(-1), 1).squeeze(-1)
        states.append(torch.as_tensor(state, dtype=torch.float32))
        actions.append(action)
        mask.append(torch.as_tensor(alive, dtype=torch.float32))
        state, _, terminated, truncated, _ = env.step(action.numpy())
        alive = alive & ~(terminated | truncated)
    env.close()
    return torch.stack(states, 1), torch.stack(actions, 1), torch.stack(mask, 1)


def log_probs(actor: nn.Module, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    return actor(states).log_softmax(-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)


@pytest.mark.slow
def test_cartpole_is_solved() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the networks are too small to share
    torch.manual_seed(1)
    actor, critic = network(2), network(1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2e-3)
    started, best, batches = time.monotonic(), 0.0, 0
    while time.monotonic() - started < 170 and best < 475:
        states, actions, mask = play(actor, EPISODES, seed=batches)
        batches += 1
        with torch.no_grad():
            old, values = log_probs(actor, states, actions), critic(states).squeeze(-1)
        # 0.1 a step, so that returns are of the size of 1
        advantages, returns = advantage.estimate(
            "gae", 0.1 * mask, values, mask, list(range(EPISODES)), gamma=0.98, lam=0.95
        )
        for _ in range(6):
            for rows in torch.randperm(EPISODES).split(4):
                on = mask[rows].bool()
                policy, _ = compute_policy_loss(
                    old[rows], log_probs(actor, states[rows], actions[rows]), advantages[rows], on, "token-mean", CLIPS
                )
                value, _ = compute_value_loss(
                    critic(states[rows]).squeeze(-1),
                    returns[rows],
                    values[rows],
                    on,
                    clip=0.5,
                    huber_delta=0.5,
                    aggregation={"loss_agg_mode": "token-mean"},
                )
                optimizer.zero_grad()
                (policy + value).backward()
                optimizer.step()
        if mask.sum(-1).mean() > 400:
            best = play(actor, 100, seed=10_000 + batches, greedy=True)[2].sum(-1).mean().item()
    took = time.monotonic() - started
    torch.set_num_threads(threads)
    print(f"mean return {best:.1f} over 100 episodes after {batches} batches, {took:.0f} s")
    assert best >= 475
    assert took < 180

"""How many samples a pass of an update holds, in runs with episodes of several turns."""

import pytest

from tests.support.composing import resolved


@pytest.mark.parametrize(
    ("environ", "by_tokens"),
    [
        ({"ENV_NAME": "frozenlake"}, True),
        ({"TOOLS": "calculator"}, True),
        ({"ENV_NAME": "frozenlake", "MICRO_BATCH_SIZE": "2"}, False),
        ({}, False),
    ],
)
def test_updates_pack_by_tokens(small_model, environ, by_tokens) -> None:
    """As many as their lengths allow, which are far below the most; all of verl's switches agree."""
    policy = resolved(small_model, 0, **environ).actor_rollout_ref
    switches = (
        policy.actor.use_dynamic_bsz,
        policy.rollout.log_prob_use_dynamic_bsz,
        policy.ref.log_prob_use_dynamic_bsz,
    )
    assert switches == (by_tokens,) * 3
    assert policy.actor.ppo_max_token_len_per_gpu == policy.rollout.log_prob_max_token_len_per_gpu

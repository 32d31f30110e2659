"""What the engine's workers call: verl's own losses at the default, and what verl cannot do."""

import pickle
from functools import partial

import pytest
import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu
from verl.workers.utils import losses as verls

from tests.support import reference_ppo as reference
from tests.support.engines import actor, critic
from tests.unit.algorithm.test_algorithm_formulas import MODES
from trainer.algorithm import losses
from trainer.algorithm.finite_check import NonFiniteError

PROMPTS, RESPONSES = [3, 2, 4], [5, 1, 3]


def jagged(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def micro_batch(seed: int = 0, left_out: tuple[int, ...] = (), share: float | None = None) -> TensorDict:
    """A micro batch as the engine hands it over: nested, with the totals of its mini batch."""
    draw = torch.Generator().manual_seed(seed)
    fields = {
        name: jagged([torch.randn(length, generator=draw) for length in RESPONSES])
        for name in ("old_log_probs", "ref_log_prob", "advantages", "values", "returns")
    }
    mask = jagged(
        [torch.full((length,), int(row not in left_out), dtype=torch.int64) for row, length in enumerate(RESPONSES)]
    )
    fields |= {
        "prompts": jagged([torch.ones(length, dtype=torch.int64) for length in PROMPTS]),
        "responses": jagged([torch.ones(length, dtype=torch.int64) for length in RESPONSES]),
        "response_mask": mask,
        "loss_mask": mask,
    }
    data = TensorDict(fields, batch_size=3)
    tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=int(mask.values().sum()), global_batch_size=3)
    tu.assign_non_tensor(data, uid=["u0", "u1", "u2"], session_id=[0, 1, 0])
    if share is not None:
        tu.assign_non_tensor(data, **{losses.SCORED_SHARE: share, losses.STEP: 7})
    return data


def output(name: str, seed: int = 9) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    rows = [torch.randn(p + r, generator=draw) for p, r in zip(PROMPTS, RESPONSES, strict=True)]
    return {name: jagged(rows).requires_grad_()}


def values_of(metrics: dict[str, object]) -> dict[str, object]:
    return {name: getattr(value, "values", value) for name, value in metrics.items()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("use_kl_loss", [False, True])
def test_the_actors_default_is_verls(mode, use_kl_loss, tmp_path) -> None:
    mine, theirs = output("log_probs"), output("log_probs")
    config = {"use_kl_loss": use_kl_loss, "kl_loss_coef": 0.3}
    ours = partial(
        losses.actor_loss,
        config=actor(mode, policy_loss={"loss_mode": "ppo_kit"}, **config),
        folder=str(tmp_path),
        kl_loss=None,
    )
    ours = pickle.loads(pickle.dumps(ours))  # as it goes to the workers
    loss, metrics = ours(model_output=mine, data=micro_batch(), dp_group=None)
    expected, expected_metrics = verls.ppo_loss(actor(mode, **config), theirs, micro_batch())
    assert torch.equal(loss, expected)
    assert values_of(metrics) == values_of(expected_metrics)
    loss.backward()
    expected.backward()
    assert torch.equal(mine["log_probs"].grad.values(), theirs["log_probs"].grad.values())


@pytest.mark.parametrize("mode", MODES)
def test_the_critics_default_is_verls(mode, tmp_path) -> None:
    ours = partial(losses.critic_loss, config=critic(mode), folder=str(tmp_path), huber_delta=None)
    loss, metrics = pickle.loads(pickle.dumps(ours))(model_output=output("values"), data=micro_batch())
    expected, expected_metrics = verls.value_loss(critic(mode), output("values"), micro_batch())
    assert torch.equal(loss, expected)
    assert values_of(metrics) == values_of(expected_metrics)


def test_the_kl_loss_of_whole_sequences(tmp_path) -> None:
    data, out = micro_batch(), output("log_probs")
    plain, _ = losses.actor_loss(actor(), out, micro_batch(), folder=str(tmp_path))
    loss, metrics = losses.actor_loss(
        actor(kl_loss_coef=0.3), out, data, folder=str(tmp_path), kl_loss=losses.KLLoss("low_var_kl", "sequence")
    )
    sums = []
    for row, (prompt, length) in enumerate(zip(PROMPTS, RESPONSES, strict=True)):
        log_probs = out["log_probs"].unbind()[row][prompt - 1 : prompt + length - 1].tolist()
        refs = data["ref_log_prob"].unbind()[row].tolist()
        sums.append(sum(reference.kl(a, b, "low_var_kl") for a, b in zip(log_probs, refs, strict=True)))
    assert metrics["kl_loss"].aggregate() == pytest.approx(reference.mean(sums), rel=1e-6)
    assert (loss - plain).item() == pytest.approx(0.3 * reference.mean(sums), rel=1e-5)


@pytest.mark.parametrize("mode", MODES[:3])  # the last divides by the width of the micro batch, in verl too
@pytest.mark.parametrize("part", ["actor", "critic"])
def test_a_sample_without_a_verdict_might_as_well_not_be_there(mode, part, tmp_path) -> None:
    """Row 0 is left out: the same loss and gradients as of the two others, and none on its own tokens."""
    if part == "actor":
        name, loss_of = "log_probs", partial(losses.actor_loss, actor(mode), folder=str(tmp_path))
    else:
        name, loss_of = "values", partial(losses.critic_loss, critic(mode), folder=str(tmp_path), huber_delta=0.5)
    out = output(name)
    loss, _ = loss_of(out, micro_batch(left_out=(0,), share=2 / 3))
    loss.backward()
    with_all = micro_batch()
    others = TensorDict({key: jagged(list(with_all[key].unbind()[1:])) for key in _nested(with_all)}, batch_size=2)
    tu.assign_non_tensor(others, dp_size=1, batch_num_tokens=4, global_batch_size=2)
    alone = {name: jagged([row.detach() for row in out[name].unbind()[1:]]).requires_grad_()}
    expected, _ = loss_of(alone, others)
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-7)
    size = PROMPTS[0] + RESPONSES[0]
    assert not out[name].grad.values()[:size].any()
    torch.testing.assert_close(out[name].grad.values()[size:], alone[name].grad.values(), rtol=1e-6, atol=1e-7)


def _nested(data: TensorDict) -> list[str]:
    return [key for key, value in data.items() if isinstance(value, torch.Tensor) and value.is_nested]


@pytest.mark.parametrize("mode", MODES)
def test_a_mini_batch_without_any_verdict_has_no_loss(mode, tmp_path) -> None:
    everything = {"left_out": (0, 1, 2), "share": 0.5}  # other mini batches of the step have verdicts
    for out, loss_of in (
        (output("log_probs"), partial(losses.actor_loss, actor(mode))),
        (output("values"), partial(losses.critic_loss, critic(mode), huber_delta=None)),
    ):
        loss, _ = loss_of(out, micro_batch(**everything), folder=str(tmp_path))
        loss.backward()
        assert loss.item() == 0
        assert not next(iter(out.values())).grad.values().any()


@pytest.mark.parametrize("bad", ["advantages", "old_log_probs"])
def test_a_policy_loss_that_is_not_finite(bad, tmp_path) -> None:
    data = micro_batch(share=1.0)
    data[bad].values()[5] = float("nan")  # the one token of row 1
    with pytest.raises(NonFiniteError, match=r"the policy loss is not finite .* for 1 sample: u1_1; the batch is"):
        losses.actor_loss(actor(), output("log_probs"), data, folder=str(tmp_path))
    saved = torch.load(tmp_path / "not_finite_step_7_actor.pt")
    assert saved["rows"] == [1]
    assert saved[bad].isnan().sum() == 1


def test_a_value_loss_that_is_not_finite(tmp_path) -> None:
    out = output("values")
    with torch.no_grad():
        out["values"].values()[-2] = float("inf")
    with pytest.raises(NonFiniteError, match=r"the value loss is not finite .* u2_0"):
        losses.critic_loss(critic(), out, micro_batch(share=1.0), folder=str(tmp_path), huber_delta=0.5)


def test_the_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(NonFiniteError("the rewards are not finite")))
    assert str(error) == "the rewards are not finite"

"""The KL over the whole vocabulary by the engine's passes: equal to logits that are held whole, gradients too."""

import subprocess
import sys
from pathlib import Path

import peft
import pytest
import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from transformers import AutoConfig, AutoModelForCausalLM
from verl.utils import tensordict_utils as tu

from tests.support import full_kl
from tests.support.full_kl import compared, dense, load, loss, micro_batch
from trainer import ROOT
from trainer.workers.engine.reference_states import COMPARE, HEAD_TASK, ReadableHead, settle_dtypes
from trainer.workers.engine.response_logits import ENTROPY_IS_METRIC_ONLY

PROMPTS, RESPONSES = [4, 9, 6], [5, 1, 7]
# Norms compute in float32, and the gradients of a prefix that sequences share are summed before they are rounded there.
PACKED = 2e-5


@pytest.fixture(scope="module")
def models(small_model, tmp_path_factory) -> dict[bool, tuple[Path, Path]]:
    """A policy and a reference, which is not the same, with tied heads and without."""
    made = {}
    for tied in (True, False):
        folders = []
        for seed in range(2):
            torch.manual_seed(seed)
            config = AutoConfig.from_pretrained(small_model, tie_word_embeddings=tied, initializer_range=0.3)
            folders.append(tmp_path_factory.mktemp("models") / f"{tied}_{seed}")
            AutoModelForCausalLM.from_config(config).save_pretrained(folders[-1])
        made[tied] = (folders[0], folders[1])
    return made


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("form", ["padded", "rows without padding", "packed"])
def test_it_is_that_of_whole_logits(models, form, tied) -> None:
    data = micro_batch(PROMPTS, RESPONSES, use_remove_padding=form == "rows without padding")
    if form == "rows without padding":  # flash-attn's form, which SDPA cannot tell sequences apart in: one is enough
        data = micro_batch(PROMPTS[:1], RESPONSES[:1], use_remove_padding=True)
    policy, reference = (load(folder, packed=form == "packed") for folder in models[tied])
    ours = compared(policy, reference, data)
    loss(ours).backward()
    assert not gradients(reference)
    plain = [load(folder, packed=False) for folder in models[tied]]
    expected = dense(*plain, data)
    loss(expected).backward()
    assert expected["vocabulary_kl"].max() > 0.01
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(
        gradients(policy), gradients(plain[0]), rtol=0, atol=PACKED if form == "packed" else 1e-9
    )


def test_16_bits_are_right_within_their_rounding(models) -> None:
    data = micro_batch(PROMPTS, RESPONSES)
    rounded = [load(folder, False, torch.bfloat16) for folder in models[True]]
    ours, whole = compared(*rounded, data), dense(*rounded, data)
    exact = dense(*(load(folder, False) for folder in models[True]), data)
    for name, values in exact.items():
        errors = [float((of[name] - values).abs().mean().detach()) for of in (ours, whole)]
        assert errors[0] < 1.2 * errors[1], name  # of logits that are held whole, and rounded once more
        assert errors[0] < 0.1 * float(values.detach().abs().mean())


def test_an_entropy_that_is_only_told_has_no_gradient(models) -> None:
    policy, reference = (load(folder, packed=True) for folder in models[True])
    data = micro_batch(PROMPTS, RESPONSES)
    tu.assign_non_tensor(data, **{ENTROPY_IS_METRIC_ONLY: True})
    values = compared(policy, reference, data)
    assert not values["entropy"].requires_grad
    assert values["vocabulary_kl"].requires_grad


def test_without_the_task_the_head_makes_logits(models) -> None:
    """Other passes of the same engine, validation of weights and exports see the model as it was."""
    model = load(models[True][0], packed=False)
    before = model(input_ids=torch.arange(6).unsqueeze(0)).logits
    assert ReadableHead.of(model) is not None
    assert torch.equal(model(input_ids=torch.arange(6).unsqueeze(0)).logits, before)


def test_a_head_that_is_not_all_of_it_is_refused(models) -> None:
    """Gemma 2 caps its logits, Granite scales them: what the head reads is not what makes the distribution."""
    model = load(models[True][0], packed=False)
    model.config.final_logit_softcapping = 30.0
    assert ReadableHead.of(model) is None
    engine = full_kl.of(full_kl.engine_kind(), model)
    data = micro_batch(PROMPTS, RESPONSES)
    tu.assign_non_tensor(data, **{HEAD_TASK: COMPARE})
    with pytest.raises(RuntimeError, match="cannot be read; take another --kl_penalty"):
        engine.prepare_model_inputs(data)


@pytest.fixture(scope="module")
def of_two_ranks(models, tmp_path_factory) -> Path:
    """What two ranks of FSDP2 have saved of each pair of ``models``."""
    folder = tmp_path_factory.mktemp("ranks")
    paths = [str(path) for pair in models.values() for path in pair]
    ranks = [
        subprocess.Popen([sys.executable, "-m", "tests.support.full_kl", str(rank), "2", str(folder), *paths], cwd=ROOT)
        for rank in range(2)
    ]
    assert [process.wait(timeout=300) for process in ranks] == [0, 0]
    return folder


@pytest.mark.parametrize("tied", [True, False])
def test_two_ranks_under_fsdp2_agree_with_one_model(models, of_two_ranks, tied) -> None:
    policy, reference = (load(folder, packed=False) for folder in models[tied])
    total, number = 0.0, list(models).index(tied)
    saved = [torch.load(of_two_ranks / f"pair_{number}_rank_{rank}.pt") for rank in range(2)]
    for rank in range(2):
        expected = dense(policy, reference, micro_batch(PROMPTS, RESPONSES, seed=rank))
        torch.testing.assert_close(
            saved[rank]["values"], {k: v.detach() for k, v in expected.items()}, rtol=0, atol=1e-10
        )
        total = total + loss(expected) / 2  # FSDP2 averages over ranks
    total.backward()
    for rank in range(2):
        torch.testing.assert_close(saved[rank]["gradients"], gradients(policy), rtol=0, atol=PACKED)


def test_gradients_of_adapters_have_their_dtype_though_the_first_pass_is_without_them(models, tmp_path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/ranks", rank=0, world_size=1)
    try:
        model = peft.get_peft_model(
            load(models[True][0], packed=False), peft.LoraConfig(r=2, target_modules=["q_proj"])
        )
        model = fully_shard(model.float(), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
        words = torch.arange(6).unsqueeze(0)
        settle_dtypes(model)
        with torch.no_grad(), model.disable_adapter():
            model(input_ids=words)
        model(input_ids=words).logits.sum().backward()
        dtypes = {weight.grad.dtype for weight in model.parameters() if weight.grad is not None}
        assert dtypes == {torch.float32}
    finally:
        dist.destroy_process_group()

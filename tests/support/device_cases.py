"""What a run computes on a GPU, on a device that is none, and on the CPU beside it: ``python -m ... FOLDER``.

Writes a line of JSON a case: its name, and the fault, or nothing. Samples are in host memory, as the transfer queue
hands them over; the model is on the device.
"""

import json
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.attention.varlen
from verl.utils import seqlen_balancing
from verl.utils import tensordict_utils as tu
from verl.workers.engine.fsdp import transformer_impl

from reward.model.encoder import Encoder
from reward.model.serving.engine import RewardEngine
from reward.model.spec import RewardModelSpec
from tests.support import engines, full_kl, other_device, reward_models
from tests.support.engines import actor, critic, dense_varlen, made
from trainer.algorithm import losses
from trainer.workers.engine import (
    forward_passes,
    nested_tensors,
    prefix_packing,
    reference_states,
    response_logits,
    varlen_attention,
)
from trainer.workers.weight_check import checksum

PROMPTS, RESPONSES = [7, 9, 5, 6], [4, 1, 7, 5]
KINDS = response_logits.engines(transformer_impl)
ENGINES = {
    "language_model": forward_passes.engine(reference_states.engine(KINDS["language_model"])),
    "value_model": forward_passes.engine(KINDS["value_model"]),
}
OUTPUTS = {"language_model": ("log_probs", "entropy"), "value_model": ("values",)}
CASES: dict[str, Callable[[Path, bool], Any]] = {}  # each computes on the device or on the CPU, and returns what it did


def case(function: Callable[[Path, bool], Any]) -> Callable[[Path, bool], Any]:
    """Have ``function`` among the cases."""
    CASES[function.__name__] = function
    return function


def engine(kind: str, on_device: bool, model_type: str = "qwen2", learns: bool = False) -> Any:
    """Return the kit's engine with a small model."""
    model = made(kind, model_type).float()
    prefix_packing.enable_prefix_packing(model)
    if learns:  # with passes that are computed again for the gradient
        model.train()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    found = engines.of(ENGINES[kind], other_device.moved(model) if on_device else model)
    found._autocast_dtype, found.scaler, found.ulysses_sequence_parallel_size = torch.float32, None, 1
    found._gradient_sync_context = lambda is_last_micro_batch: nullcontext()
    found.get_data_parallel_group, found.get_data_parallel_size = lambda: dist.group.WORLD, lambda: 1
    return found


def batch(**options: Any) -> Any:
    """Return a mini batch of two micro batches, or of those that verl makes by their tokens."""
    data, draw = full_kl.micro_batch(PROMPTS, RESPONSES), torch.Generator().manual_seed(0)
    for name in ("old_log_probs", "ref_log_prob", "advantages", "values", "returns", "rollout_is_weights"):
        data[name] = engines.nested(torch.randn(length, generator=draw) for length in RESPONSES)
    for name in ("response_mask", "loss_mask"):
        data[name] = engines.nested(torch.ones(length, dtype=torch.int64) for length in RESPONSES)
    sizes = {"global_batch_size": 4, "micro_batch_size_per_gpu": 2, "max_token_len_per_gpu": 40}
    tu.assign_non_tensor(data, **{**sizes, "use_dynamic_bsz": False, **options})
    return data


def loss_of(kind: str, folder: Path, **changes: Any) -> Callable[..., Any]:
    """Return the loss of an update, with all of its parts."""
    if kind == "value_model":
        return partial(losses.critic_loss, config=critic(), folder=str(folder), huber_delta=0.5)
    config = actor(entropy_coeff=0.01, kl_loss_coef=0.1, use_kl_loss=not changes)
    return partial(losses.actor_loss, config=config, folder=str(folder), **changes)


def updated(found: Any, data: Any, loss: Callable[..., Any]) -> list[Any]:
    """Return the losses and gradients of an update."""
    made_of = found.forward_backward_batch(data, loss)["loss"]
    return [made_of, {name: host(weight.grad) for name, weight in found.module.named_parameters()}]


def host(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Return a tensor's numbers."""
    return tensor.held if isinstance(tensor, other_device.OnDevice) else tensor


def passes(kind: str, on_device: bool, **options: Any) -> Any:
    """Compute what stands before an update; the outputs are for the host, where the batch is."""
    data = batch(**options, **{forward_passes.OUTPUT_NAMES: {name: f"old_{name}" for name in OUTPUTS[kind]}})
    output = engine(kind, on_device).infer_batch(data)["model_output"]
    assert {values.device.type for values in output.values()} == {"cpu"}
    return {name: values.values() for name, values in output.items()}


@case
def log_probabilities(_: Path, on_device: bool) -> Any:
    """The actor's and the reference's."""
    return passes("language_model", on_device)


@case
def log_probabilities_of_micro_batches_by_tokens(_: Path, on_device: bool) -> Any:
    """As above; verl puts the samples back in order."""
    return passes("language_model", on_device, use_dynamic_bsz=True)


@case
def values(_: Path, on_device: bool) -> Any:
    """The critic's."""
    return passes("value_model", on_device)


@case
def update_of_the_actor(folder: Path, on_device: bool) -> Any:
    """Policy loss, entropy and KL loss."""
    found = engine("language_model", on_device, learns=True)
    return updated(found, batch(use_dynamic_bsz=True), loss_of("language_model", folder))


@case
def update_of_the_critic(folder: Path, on_device: bool) -> Any:
    """With clipping and Huber's loss."""
    return updated(engine("value_model", on_device, learns=True), batch(), loss_of("value_model", folder))


@case
def update_of_a_model_that_is_padded(folder: Path, on_device: bool) -> Any:
    """GPT-2, which takes no packed passes."""
    return updated(engine("language_model", on_device, "gpt2"), batch(), loss_of("language_model", folder))


@case
def update_with_torchs_flash_kernels(folder: Path, on_device: bool) -> Any:
    """Up to the kernel, for which something dense stands."""
    kernel, fits, dtypes = torch.nn.attention.varlen.varlen_attn, varlen_attention.fits, varlen_attention.DTYPES
    torch.nn.attention.varlen.varlen_attn = dense_varlen
    varlen_attention.fits, varlen_attention.DTYPES = lambda config, device: True, (torch.float32,)
    try:
        return [updated(engine(kind, on_device, learns=True), batch(), loss_of(kind, folder)) for kind in ENGINES]
    finally:
        torch.nn.attention.varlen.varlen_attn = kernel
        varlen_attention.fits, varlen_attention.DTYPES = fits, dtypes


@case
def kl_over_the_whole_vocabulary(folder: Path, on_device: bool) -> Any:
    """The reference's states wait in host memory."""
    actors, store = engine("language_model", on_device), reference_states.ReferenceStates()
    for found, task in ((engine("language_model", on_device), "keep"), (actors, "compare")):
        found.reference, data = store, batch(**{reference_states.HEAD_TASK: task})
        found.infer_batch(data)
    return updated(actors, data, loss_of("language_model", folder, kl_loss=losses.KLLoss("full", "token")))


@case
def a_loss_that_is_not_finite(folder: Path, on_device: bool) -> Any:
    """The batch is saved for whoever looks for the cause."""
    data = batch()
    data["advantages"] = engines.nested(torch.full((length,), torch.nan) for length in RESPONSES)
    try:
        updated(engine("language_model", on_device), data, loss_of("language_model", folder))
    except losses.finite_check.NonFiniteError:
        (file,) = folder.glob("*.pt")
        saved = torch.load(file)["output"]
        file.unlink()
        assert saved.device.type == "cpu"
        return saved
    raise AssertionError("an infinite loss was taken")


@case
def checksums_of_weights(_: Path, on_device: bool) -> Any:
    """What is compared with vLLM's."""
    model = engine("language_model", on_device).module
    return {name: checksum.of_rows(each, each.shape, torch.bfloat16) for name, each in model.named_parameters()}


@case
def scores_of_reward_models(folder: Path, on_device: bool) -> Any:
    """Of each architecture with code of its own."""
    talks = [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text}] for text in ("Yes.", "No no")]
    found = {}
    for name, make in reward_models.MAKERS.items():
        spec = RewardModelSpec(str(make(folder / f"{name}-{on_device}")), micro_batch=2)
        encoder, scorer = Encoder(spec), RewardEngine(spec)
        if on_device:
            scorer.model, scorer.device = other_device.moved(scorer.model), other_device.NAME
        found[name] = scorer.scores([encoder.encode(talk) for talk in talks])
    return found


def fault(compute: Callable[[Path, bool], Any], folder: Path) -> str:
    """Return why a case does not hold, or nothing."""
    try:
        verl_computes_on("cpu")
        expected = compute(folder, False)
        verl_computes_on(other_device.NAME)
        with other_device.device():
            found = compute(folder, True)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    except Exception:
        return traceback.format_exc(limit=-12)
    return ""


def verl_computes_on(device: str) -> None:
    """Have verl's engine send micro batches there."""
    for module in (transformer_impl, seqlen_balancing):
        module.get_device_name = module.get_device_id = lambda: device


def main(folder: Path) -> None:
    """Try all cases."""
    torch.inference_mode = torch.no_grad  # which tensors of classes of one's own have not
    nested_tensors.patch(tu)
    dist.init_process_group("gloo", init_method=f"file://{folder}/ranks", rank=0, world_size=1)
    for name, compute in CASES.items():
        print(json.dumps([name, fault(compute, folder)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

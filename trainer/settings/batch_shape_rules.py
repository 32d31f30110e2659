"""verl's rules about the sizes of a batch, one function a kind; see ``trainer.settings.batch_shape``."""

import math
from collections.abc import Iterator

from reward.support.wording import shown
from trainer.algorithm.divisors import largest_divisor
from trainer.settings.batch_shape import MAX_LORA_RANK, Role, Shape
from trainer.settings.batch_size import nearest_multiple, unit

MOST = 1_000_000_000  # of any size: beyond it nothing is a batch, and its divisors would take seconds
FLAGS = {"actor": "--mini_batch_size", "critic": "--mini_batch_size (critic)"}


def shape_faults(shape: Shape) -> list[str]:
    """Return one line for each size that verl would refuse; of the finer ones only where the coarse ones are met."""
    lines = [*_numbers(shape), *_parallel(shape)]
    lines = lines or [*_batch(shape), *_rollout(shape), *_lengths(shape), *_old_names(shape)]
    lines = lines or [line for role in shape.roles for line in _passes(shape, role)]
    return list(dict.fromkeys(lines))


def _numbers(shape: Shape) -> Iterator[str]:
    """Sizes that cannot be any: 0 and below; flags are checked when they are read, raw overrides here."""
    sizes = {
        "data.train_batch_size": shape.batch,
        "rollout.n": shape.samples,
        "rollout.tensor_model_parallel_size": shape.tensor_parallel,
        "rollout.data_parallel_size": shape.data_parallel,
        "rollout.agent.num_workers": shape.workers,
    }
    for role in shape.roles:
        sizes |= {f"{role.name}: mini batch": role.mini or 1, f"{role.name}: sequence parallel": role.parallel}
        sizes |= {f"{role.name}: micro batch": role.micro if role.micro is not None else 1}
        sizes |= {f"{role.name}: micro batch of log-probabilities": role.infer if role.infer is not None else 1}
        if role.mini is not None and role.mini < 1:
            sizes[f"{role.name}: mini batch"] = role.mini
    yield from (
        f"{name} is {shown(size)}: a size is 1 or more, and {MOST:,} at most"
        for name, size in sizes.items()
        if not 1 <= size <= MOST
    )
    if 1 <= shape.batch <= MOST and 1 <= shape.samples <= MOST < shape.batch * shape.samples:
        yield (
            f"--batch_size {shape.batch} with --rollout_n {shape.samples} gives {shape.batch * shape.samples:,} "
            f"samples a step; {MOST:,} at most"
        )
    if shape.validation is not None and shape.validation < 0:
        yield f"data.val_batch_size is {shape.validation}: 1 or more, or null for all at once"


def _parallel(shape: Shape) -> Iterator[str]:
    """How ranks are shared out: fsdp/transformer_impl.py, ``_init_device_mesh``; engine_workers.py, ``init_model``."""
    ranks, model = shape.ranks, shape.model
    for role in shape.roles:
        if ranks % role.parallel:
            yield f"{role.name}: ulysses_sequence_parallel_size {role.parallel} does not divide the {ranks} ranks"
        if role.parallel > 1:
            if not shape.remove_padding[role.name == "critic"]:
                yield f"{role.name}: ulysses_sequence_parallel_size {role.parallel} wants use_remove_padding=true"
            if model.heads and model.kv_heads and not _shares_heads(role.parallel, model.heads, model.kv_heads):
                yield (
                    f"{role.name}: ulysses_sequence_parallel_size {role.parallel} does not divide the model's "
                    f"{model.heads} attention heads ({model.kv_heads} of keys and values)"
                )
        if 0 < role.shards < ranks and ranks % role.shards:
            yield f"{role.name}: fsdp_size {role.shards} does not divide the {ranks} ranks"
    yield from _replicas(shape)
    if shape.pipeline_parallel > 1:
        yield f"rollout.pipeline_model_parallel_size {shape.pipeline_parallel}: verl's vLLM rollout has none; take 1"
    if shape.expert_parallel > 1 and shape.expert_parallel != shape.tensor_parallel * shape.data_parallel:
        yield (
            f"rollout.expert_parallel_size {shape.expert_parallel} is not tensor_model_parallel_size x "
            f"data_parallel_size, {shape.tensor_parallel * shape.data_parallel}"
        )
    if model.heads and model.heads % shape.tensor_parallel:
        near = largest_divisor(math.gcd(model.heads, ranks), shape.tensor_parallel - 1)
        yield f"--rollout_tp_size {shape.tensor_parallel} does not divide the model's {model.heads} heads; take {near}"


def _replicas(shape: Shape) -> Iterator[str]:
    """How vLLM shares the ranks, or the devices that it has alone."""
    ranks = shape.ranks
    replica = shape.tensor_parallel * shape.data_parallel * shape.pipeline_parallel
    what = "--rollout_tp_size" if replica == shape.tensor_parallel else "a vLLM replica of"
    for count, gpus in ((ranks, f"the {ranks} GPUs"), (shape.own_rollout, f"--rollout_gpus {shape.own_rollout}")):
        if count % replica:
            near = largest_divisor(math.gcd(ranks, shape.own_rollout), replica)
            yield f"{what} {replica} does not divide {gpus}; the nearest below that does: {near}"
    node = shape.node or ranks
    if replica > node and ranks > node and replica % node:
        yield f"--rollout_tp_size {replica} spans machines of {node} GPUs each; take a multiple of {node}"


def _shares_heads(parallel: int, heads: int, kv_heads: int) -> bool:
    """verl/models/transformers/monkey_patch.py, ``apply_monkey_patch``."""
    return heads % parallel == 0 and (kv_heads % parallel == 0 or parallel % kv_heads == 0)


def _batch(shape: Shape) -> Iterator[str]:
    """Batch and mini batches: verl/utils/config.py, ``validate_config``; engine_workers.py, ``train_mini_batch``."""
    actor_packs, log_probs_pack, critic_packs = shape.packed
    seen = set()
    for role in shape.roles:
        share = shape.share(role)
        if role.mini is None or (role.mini, share) in seen:
            continue
        seen.add((role.mini, share))
        if role.mini > shape.batch and not (critic_packs if role.name == "critic" else actor_packs):
            yield (
                f"{FLAGS[role.name]} {role.mini} is larger than --batch_size {shape.batch}; lower one or raise the "
                "other"
            )
        if role.mini * shape.samples % share:
            yield _uneven(f"{FLAGS[role.name]} {role.mini}", role.mini, shape.samples, share)
    if not actor_packs and shape.batch * shape.samples % shape.ranks:
        yield _uneven(f"--batch_size {shape.batch}", shape.batch, shape.samples, shape.ranks)
    if shape.fetch and shape.batch % shape.fetch:
        yield f"data.gen_batch_size {shape.fetch} does not divide --batch_size {shape.batch}"
    if actor_packs != log_probs_pack:
        yield "actor.use_dynamic_bsz and rollout.log_prob_use_dynamic_bsz differ; verl wants them alike"


def _uneven(what: str, size: int, samples: int, ranks: int) -> str:
    near = nearest_multiple(unit(ranks, samples), size)
    return (
        f"{what} with --rollout_n {samples} gives {size * samples} samples, which {ranks} GPUs cannot share evenly; "
        f"the nearest that they can: {near}"
    )


def _rollout(shape: Shape) -> Iterator[str]:
    if shape.lora_rank > MAX_LORA_RANK:
        yield f"--lora_rank {shape.lora_rank}: vLLM serves adapters of rank {MAX_LORA_RANK} at most"


def _lengths(shape: Shape) -> Iterator[str]:
    """Context: vllm_async_server.py, ``_validate_configs`` and ``generate``; tokens: seqlen_balancing.py."""
    length, positions = shape.length, shape.model.positions
    context = shape.context if shape.context is not None else positions
    if positions and shape.context is not None and shape.context > positions:
        yield (
            f"--max_prompt_length and --max_response_length: {shape.context} tokens, and the model has {positions} "
            "positions; lower one of them"
        )
    elif context and length > context:
        yield (
            f"--max_prompt_length and --max_response_length: {length} tokens, and "
            f"{'vLLM holds' if shape.context is not None else 'the model has'} {context}; lower one of them"
        )
    for role in shape.roles:
        for what, tokens in (("an update", role.tokens), ("log-probabilities", role.infer_tokens)):
            if tokens is not None and tokens * role.parallel < length:
                yield (
                    f"{role.name}: {tokens} tokens a pass of {what} are fewer than prompt and response may have, "
                    f"{length}; raise its max_token_len_per_gpu"
                )


def _old_names(shape: Shape) -> Iterator[str]:
    for name in shape.both:
        yield f"{name} is verl's old name and is set beside {name}_per_gpu; leave it out (--micro_batch_size)"
    for name in shape.unset:
        yield f"{name}_per_gpu=null: a number of samples is wanted; leave it out, or give --micro_batch_size"


def _passes(shape: Shape, role: Role) -> Iterator[str]:
    """Micro batches: verl/workers/engine/utils.py, ``prepare_micro_batches``."""
    ranks = shape.share(role)
    if role.micro is not None and role.mini is not None:
        share = role.mini * shape.samples // ranks
        if share % role.micro:
            yield (
                f"--micro_batch_size {role.micro} does not divide the {share} samples that a rank has of a mini batch; "
                f"the nearest below that does: {largest_divisor(share, role.micro)}"
            )
            return
    for total in shape.totals():
        if total % ranks:
            yield f"{role.name}: its {ranks} groups of ranks cannot share the {total} samples of a step evenly"
        elif role.infer is not None and total // ranks % role.infer:
            share = total // ranks
            yield (
                f"{role.name}: log_prob_micro_batch_size_per_gpu {role.infer} does not divide the {share} samples that "
                f"a rank has of a step; the nearest below that does: {largest_divisor(share, role.infer)}"
            )

"""The sizes of a batch: what is let through, verl accepts, and what is refused, verl refuses."""

import contextlib
import os
import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hydra.errors import InstantiationException
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.trainer.ppo.v1.trainer_base import PPOTrainer
from verl.utils import tensordict_utils as tu
from verl.utils.config import omega_conf_to_dataclass, validate_config
from verl.utils.ulysses import validate_ulysses_config
from verl.workers.engine.utils import prepare_micro_batches

from tests.support.composing import resolved
from trainer.algorithm.divisors import largest_divisor
from trainer.settings.batch_shape import Shape
from trainer.settings.batch_shape_rules import shape_faults
from trainer.settings.batch_size import fit, nearest_multiple, unit
from trainer.settings.settings import read_settings
from trainer.settings.values import Values
from trainer.user_error import UserError

HEADS, KV_HEADS, POSITIONS = 12, 4, 1024


def randomise(config: DictConfig, draw: random.Random) -> None:
    """Give ``config`` sizes that fit about half of the time."""
    policy, critic, rollout = config.actor_rollout_ref, config.critic, config.actor_rollout_ref.rollout
    ranks = draw.choice([1, 2, 3, 4, 6, 8])
    config.trainer.nnodes = 2 if ranks % 2 == 0 and draw.random() < 0.2 else 1
    config.trainer.n_gpus_per_node = rollout.n_gpus_per_node = ranks // config.trainer.nnodes
    n = rollout.n = policy.actor.rollout_n = draw.choice([1, 1, 2, 3, 4, 5])
    mini = draw.choice([1, 2, 3, 4]) * unit(ranks, n) + (draw.random() < 0.03)
    config.data.train_batch_size = max(1, mini * draw.choice([1, 2, 3]) + draw.choice([0] * 12 + [-1, 1]))
    policy.actor.ppo_mini_batch_size = mini
    critic.ppo_mini_batch_size = mini * draw.choice([1] * 8 + [2]) + (draw.random() < 0.02)
    parallel = draw.choice([1] * 8 + [2, 2, 3])
    policy.actor.ulysses_sequence_parallel_size = policy.ref.ulysses_sequence_parallel_size = parallel
    critic.fsdp.ulysses_sequence_parallel_size = draw.choice([parallel] * 4 + [1, 2])
    policy.model.use_remove_padding = critic.model.use_remove_padding = draw.random() < 0.97
    share = max(1, mini * n * parallel // ranks)
    micro = largest_divisor(share, draw.choice([1, 2, 4, 64])) + (draw.random() < 0.04)
    policy.actor.ppo_micro_batch_size_per_gpu = micro
    for part in (rollout, policy.ref):
        part.log_prob_micro_batch_size_per_gpu = draw.choice([micro] * 12 + [2])
    packed = policy.actor.use_dynamic_bsz = critic.use_dynamic_bsz = draw.random() < 0.2
    rollout.log_prob_use_dynamic_bsz = policy.ref.log_prob_use_dynamic_bsz = packed != (draw.random() < 0.02)
    critic.use_dynamic_bsz = critic.use_dynamic_bsz != (draw.random() < 0.05)
    config.data.max_prompt_length, config.data.max_response_length = 64, 64
    policy.actor.ppo_max_token_len_per_gpu = draw.choice([256] * 12 + [64])
    critic.ppo_infer_max_token_len_per_gpu = draw.choice([256] * 12 + [64])
    rollout.max_model_len = draw.choice([None] * 6 + [128] * 3 + [512] * 3 + [100, 2048])
    rollout.tensor_model_parallel_size = draw.choice([1] * 10 + [2, 2, 5])
    rollout.pipeline_model_parallel_size = draw.choice([1] * 40 + [2])
    policy.actor.fsdp_config.fsdp_size = draw.choice([-1] * 12 + [2])
    policy.model.lora_rank = draw.choice([0] * 20 + [16, 16, 513])
    config.data.gen_batch_size = draw.choice([None] * 16 + [2])
    config.algorithm.adv_estimator = draw.choice(["gae", "gae", "grpo"])
    config.algorithm.use_kl_in_reward = draw.random() < 0.7
    config.trainer.critic_warmup = draw.choice([0] * 8 + [2])
    parts = [("ppo_micro_batch_size", policy.actor), ("ppo_micro_batch_size", critic)]
    for name, part in [*parts, *(("log_prob_micro_batch_size", each) for each in (rollout, policy.ref))]:
        part[name] = 8 if draw.random() < 0.01 else None
    for part in (rollout, policy.ref):
        part.log_prob_max_token_len_per_gpu = policy.actor.ppo_max_token_len_per_gpu


def verl_goes_through(config: DictConfig) -> None:
    """Do with the sizes what verl does between its start and the end of a step; raise where it raises."""
    policy, critic, rollout = config.actor_rollout_ref, config.critic, config.actor_rollout_ref.rollout
    with_critic, with_reference = need_critic(config), need_reference_policy(config) and not policy.model.lora_rank
    with contextlib.redirect_stdout(None):
        validate_config(config, need_reference_policy(config), with_critic)
    ranks, n = config.trainer.n_gpus_per_node * config.trainer.nnodes, rollout.n
    # vllm_async_server.py, replica.py, engine_workers.py, and vllm/config/model.py
    if rollout.max_model_len is not None and rollout.max_model_len > POSITIONS:
        raise ValueError("max_model_len should be less than or equal to max_position_embeddings")
    if config.data.max_prompt_length + config.data.max_response_length > (rollout.max_model_len or POSITIONS):
        raise ValueError("leaves no room to generate")
    omega_conf_to_dataclass(rollout)  # verl's own checks of its rollout, such as that there is no pipeline parallelism
    tensor = rollout.tensor_model_parallel_size
    assert ranks % tensor == 0
    assert tensor % min(config.trainer.n_gpus_per_node, tensor) == 0
    assert HEADS % tensor == 0
    assert policy.actor.use_dynamic_bsz == rollout.log_prob_use_dynamic_bsz
    # trainer_base.py, _next_train_batch
    assert config.data.train_batch_size % (config.data.gen_batch_size or config.data.train_batch_size) == 0
    roles = [("actor", policy.actor.ulysses_sequence_parallel_size, policy.actor.fsdp_config.fsdp_size, policy.model)]
    if with_reference:
        roles.append(("ref", policy.ref.ulysses_sequence_parallel_size, -1, policy.model))
    if with_critic:
        roles.append(("critic", critic.fsdp.ulysses_sequence_parallel_size, -1, critic.model))
    shares = {}
    for name, parallel, shards, model in roles:  # fsdp/transformer_impl.py and utils.py: meshes
        assert not (parallel > 1 and not model.use_remove_padding)
        assert ranks % parallel == 0
        validate_ulysses_config(HEADS, parallel)
        assert KV_HEADS % parallel == 0 or parallel % KV_HEADS == 0
        assert shards < 0 or shards >= ranks or ranks % shards == 0
        shares[name] = ranks // parallel
    for step in {0, config.trainer.critic_warmup}:
        trainer = SimpleNamespace(use_critic=with_critic, config=config, global_steps=step)
        multiple = PPOTrainer._get_required_batch_multiple(trainer, shares["actor"])
        total = -(-config.data.train_batch_size * n // multiple) * multiple
        passes = {
            "actor": (rollout.log_prob_micro_batch_size_per_gpu, rollout.log_prob_max_token_len_per_gpu),
            "ref": (policy.ref.log_prob_micro_batch_size_per_gpu, policy.ref.log_prob_max_token_len_per_gpu),
            "critic": (None, critic.ppo_infer_max_token_len_per_gpu),
        }
        packed = {"actor": policy.actor.use_dynamic_bsz, "ref": policy.ref.log_prob_use_dynamic_bsz, "critic": True}
        for name, parallel, *_ in roles:
            rows = tu.chunk_tensordict(samples(total), shares[name])[0]
            micro, tokens = passes[name]
            split(rows, packed[name], micro, tokens, parallel)
            if name == "ref" or (name == "actor" and step < config.trainer.critic_warmup):
                continue
            part = policy.actor if name == "actor" else critic
            assert part.ppo_mini_batch_size * n % shares[name] == 0  # engine_workers.py, train_mini_batch
            size = part.ppo_mini_batch_size * n // shares[name]
            tokens = part.ppo_max_token_len_per_gpu if name == "actor" else tokens
            for mini in tu.make_iterator(rows, size, epochs=1):
                split(mini, packed[name], policy.actor.ppo_micro_batch_size_per_gpu, tokens, parallel)


def samples(count: int) -> TensorDict:
    """A batch of ``count`` samples of full length, 128 tokens, as ``rearrange_micro_batches`` counts them."""
    mask = torch.ones(count, 128, dtype=torch.long)
    return TensorDict({"input_ids": mask, "attention_mask": mask}, batch_size=count)


def split(rows: TensorDict, packed: bool, micro: int | None, tokens: int, parallel: int) -> None:
    rows = rows.clone()
    tu.assign_non_tensor(
        rows, use_dynamic_bsz=packed, micro_batch_size_per_gpu=micro, max_token_len_per_gpu=tokens, sp_size=parallel
    )
    prepare_micro_batches(rows)


MODEL = {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "max_position_embeddings": POSITIONS}


def test_the_rules_are_verls_own(small_model) -> None:
    """Random shapes through verl's own code, where it can be called; SHAPES=3000 for a longer look."""
    config, draw, counts = resolved(small_model, 0), random.Random(os.environ.get("SEED", "0")), [0, 0]
    for _ in range(int(os.environ.get("SHAPES", "200"))):
        randomise(config, draw)
        faults = shape_faults(Shape.of_config(config, MODEL))
        refused: Any = None
        try:
            verl_goes_through(config)
        except (AssertionError, ValueError, InstantiationException) as error:
            refused = error
        assert bool(faults) == (refused is not None), (faults, repr(refused), Shape.of_config(config, MODEL))
        counts[bool(faults)] += 1
    assert min(counts) > sum(counts) / 5  # both happen often


def test_what_is_fitted_is_accepted() -> None:
    """Whatever the number of GPUs and samples, sizes that nobody gave make a valid batch."""
    draw = random.Random(1)
    for _ in range(3000):
        given = {"N_GPUS": draw.randint(1, 64), "NNODES": draw.randint(1, 4), "ROLLOUT_N": draw.randint(1, 17)}
        micro = draw.choice(["auto", "auto", 1, 2, 3, 7])
        step = unit(given["N_GPUS"] * given["NNODES"], given["ROLLOUT_N"])
        free = draw.choice([{"BATCH_SIZE"}, {"MINI_BATCH_SIZE"}, {"BATCH_SIZE", "MINI_BATCH_SIZE"}])
        sizes = {"BATCH_SIZE": draw.choice([32, 128, 256]), "MINI_BATCH_SIZE": draw.choice([16, 64])}
        if "BATCH_SIZE" not in free:
            micro, sizes["BATCH_SIZE"] = "auto", step * draw.randint(1, 40)
        elif "MINI_BATCH_SIZE" not in free:
            micro, sizes["MINI_BATCH_SIZE"] = "auto", step * draw.randint(1, 40)
        lengths: dict[str, Any] = {
            "MAX_PROMPT_LENGTH": 8,
            "MAX_RESPONSE_LENGTH": 8,
            "ROLLOUT_TP_SIZE": 1,
            "LORA_RANK": 0,
        }
        lengths |= {"ASYNC_SAMPLING": "off"}
        values: dict[str, Any] = given | sizes | lengths | {"MICRO_BATCH_SIZE": micro, "ADV_ESTIMATOR": "gae"}
        fitting, said = fit(Values(values), frozenset(free))
        values |= fitting
        assert shape_faults(Shape.of_knobs(Values(values))) == [], values
        assert all(values[name] == sizes[name] for name in sizes if name not in free)
        assert bool(said) == any(values[name] != sizes[name] for name in sizes)
        assert values["BATCH_SIZE"] % values["MINI_BATCH_SIZE"] == 0  # verl has nothing to pad


@pytest.mark.parametrize(
    ("environ", "sizes"),
    [
        ({}, (128, 64)),
        ({"BATCH_SIZE": "auto", "MINI_BATCH_SIZE": "auto"}, (128, 64)),
        ({"N_GPUS": "6"}, (132, 66)),
        ({"BATCH_SIZE": "100"}, (100, 50)),
        ({"BATCH_SIZE": "48"}, (48, 48)),
        ({"MINI_BATCH_SIZE": "40"}, (120, 40)),
        ({"N_GPUS": "4", "ROLLOUT_N": "6"}, (128, 64)),
        ({"MICRO_BATCH_SIZE": "10"}, (120, 60)),
    ],
)
def test_sizes_that_were_left_out(environ, sizes) -> None:
    settings = read_settings(environ, [], gpus=0)
    assert (settings.integer("BATCH_SIZE"), settings.integer("MINI_BATCH_SIZE")) == sizes
    assert bool(settings.fitted) == (sizes != (128, 64))


def test_sizes_that_were_given_stay() -> None:
    with pytest.raises(UserError, match=r"gives 100 samples, which 3 GPUs cannot share evenly; .* can: 99") as error:
        read_settings({"BATCH_SIZE": "100", "N_GPUS": "3"}, [], gpus=0)
    assert len(error.value.faults) == 1


def test_nearest_multiple() -> None:
    assert [nearest_multiple(6, size) for size in (1, 8, 9, 64)] == [6, 6, 12, 66]

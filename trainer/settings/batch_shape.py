"""The sizes that verl divides by one another, which it asserts only minutes after the start.

A rule is one of verl 0.9.1 (named beside it) for its synchronous trainer over FSDP2 and vLLM, or of vLLM's own;
``tests/unit/settings/test_batch_shape.py`` holds them against verl's code, in both directions.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainer.algorithm.divisors import largest_divisor
from trainer.settings.resolve import rollout_gpus
from trainer.settings.values import Values

# Tokens of a forward pass, where the micro batch is chosen here.
MICRO_BATCH_TOKENS = {"cpu": 4096, "cuda": 16384}
MAX_LORA_RANK = 512  # vllm/config/lora.py, MaxLoRARanks


def micro_batch(mini_batch: int, samples: int, ranks: int, length: int, device: str) -> int:
    """Return the samples of a forward pass on one rank: as many as divide its share and keep the pass within bounds.

    ``mini_batch`` is in prompts, ``samples`` a prompt, ``length`` in tokens of prompt and response. ``ranks`` are
    those that have samples of their own: sequence parallelism makes them fewer.
    """
    return largest_divisor(max(1, mini_batch * samples // max(1, ranks)), max(1, MICRO_BATCH_TOKENS[device] // length))


@dataclass(frozen=True)
class Role:
    """One of the models that the ranks hold.

    ``mini`` is in prompts, None where it is not trained; ``micro`` in samples of an update's pass and ``infer`` of a
    pass without gradients, None where passes are packed by tokens: then ``tokens`` and ``infer_tokens`` count.
    """

    name: str
    mini: int | None = None
    micro: int | None = None
    infer: int | None = None
    tokens: int | None = None
    infer_tokens: int | None = None
    parallel: int = 1  # ranks that share a sequence
    shards: int = -1  # ranks that share the weights; -1: all


@dataclass(frozen=True)
class ModelShape:
    """What the sizes of the model say; None where it is not known (a dry run asks no hub)."""

    heads: int | None = None
    kv_heads: int | None = None
    positions: int | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "ModelShape":
        """Take it from a ``config.json``."""
        text = config.get("text_config", config)
        heads = text.get("num_attention_heads")
        return cls(
            heads,
            text.get("num_key_value_heads") or heads,
            config.get("max_position_embeddings") or text.get("max_position_embeddings"),
        )


@dataclass(frozen=True)
class Shape:
    """A batch: prompts a step, samples a prompt, what the roles make of it, and how vLLM shares the ranks."""

    batch: int
    samples: int
    ranks: int
    roles: tuple[Role, ...]
    length: int  # tokens of prompt and response
    tensor_parallel: int = 1
    data_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    node: int = 0  # ranks of one machine; 0: all
    own_rollout: int = 0  # devices of each machine on which vLLM is alone; 0: it shares the ranks'
    fetch: int | None = None  # prompts that the data loader gives at once
    validation: int | None = None  # prompts of a validation batch; None: all
    workers: int = 1  # agent loops
    context: int | None = None  # tokens that vLLM holds for a sequence; None: as many as the model has positions
    lora_rank: int = 0
    packed: tuple[bool, bool, bool] = (False, False, False)  # by tokens: actor, log-probabilities, critic
    remove_padding: tuple[bool, bool] = (True, True)  # policy, critic
    both: tuple[str, ...] = ()  # settings given under their old name and their new one
    unset: tuple[str, ...] = ()  # ... and under neither
    warmup: bool = False  # steps that train the critic alone
    model: ModelShape = ModelShape()

    @classmethod
    def of_knobs(cls, values: Values) -> "Shape":
        """Take the shape from knobs."""
        micro, mini = values.integer_or_none("MICRO_BATCH_SIZE"), values.integer("MINI_BATCH_SIZE")
        roles = (Role("actor", mini, micro, micro), Role("critic", mini))
        return cls(
            batch=values.integer("BATCH_SIZE"),
            samples=values.integer("ROLLOUT_N"),
            ranks=values.integer("N_GPUS") * values.integer("NNODES"),
            roles=roles if values.text("ADV_ESTIMATOR") == "gae" else roles[:1],
            length=values.integer("MAX_PROMPT_LENGTH") + values.integer("MAX_RESPONSE_LENGTH"),
            tensor_parallel=values.integer("ROLLOUT_TP_SIZE"),
            own_rollout=rollout_gpus(values),
            lora_rank=values.integer("LORA_RANK"),
        )

    @classmethod
    def of_config(cls, config: Any, model: Mapping[str, Any] | None = None) -> "Shape":
        """Take the shape from verl's composed configuration, with all overrides in it, and ``model``'s config.json."""
        policy, rollout = config.actor_rollout_ref, config.actor_rollout_ref.rollout
        trainer, data = config.trainer, config.data
        generation = {} if rollout.max_model_len is None else {"context": int(rollout.max_model_len)}
        return cls(
            batch=data.train_batch_size,
            samples=rollout.n,
            ranks=trainer.n_gpus_per_node * trainer.nnodes,
            roles=tuple(_roles(config)),
            length=data.max_prompt_length + data.max_response_length,
            tensor_parallel=rollout.tensor_model_parallel_size,
            data_parallel=rollout.data_parallel_size,
            pipeline_parallel=rollout.pipeline_model_parallel_size,
            expert_parallel=rollout.expert_parallel_size,
            node=trainer.n_gpus_per_node,
            own_rollout=rollout.n_gpus_per_node if rollout.nnodes else 0,
            fetch=data.get("gen_batch_size"),
            validation=data.get("val_batch_size"),
            workers=rollout.agent.num_workers,
            lora_rank=policy.model.lora_rank,
            packed=(policy.actor.use_dynamic_bsz, rollout.log_prob_use_dynamic_bsz, config.critic.use_dynamic_bsz),
            remove_padding=(policy.model.use_remove_padding, config.critic.model.use_remove_padding),
            both=tuple(name for name, times in _micro_batches(config) if times > 1),
            unset=tuple(name for name, times in _micro_batches(config) if not times),
            warmup=trainer.critic_warmup > 0,
            model=ModelShape.of(model or {}),
            **generation,
        )

    def share(self, role: Role) -> int:
        """Return how many ranks have samples of their own."""
        return self.ranks // role.parallel

    def totals(self) -> list[int]:
        """Return the samples of a step as verl pads them: a multiple of ranks and mini batches.

        verl/trainer/ppo/v1/trainer_base.py, ``_get_required_batch_multiple``; in the critic's warm-up the actor's
        mini batch does not count.
        """
        minis = {role.name: role.mini * self.samples for role in self.roles if role.mini}
        actor = next(role for role in self.roles if role.name == "actor")
        whole = math.lcm(self.share(actor), *minis.values())
        multiples = [whole]
        if self.warmup:
            multiples.append(math.lcm(self.share(actor), minis.get("critic", 1)))
        return [-(-self.batch * self.samples // multiple) * multiple for multiple in multiples]


def _roles(config: Any) -> Iterator[Role]:
    policy, critic, rollout = config.actor_rollout_ref, config.critic, config.actor_rollout_ref.rollout
    actor, ref = policy.actor, policy.ref
    yield Role(
        "actor",
        actor.ppo_mini_batch_size,
        None if actor.use_dynamic_bsz else actor.ppo_micro_batch_size_per_gpu,
        None if actor.use_dynamic_bsz else rollout.log_prob_micro_batch_size_per_gpu,
        actor.ppo_max_token_len_per_gpu if actor.use_dynamic_bsz else None,
        rollout.log_prob_max_token_len_per_gpu if actor.use_dynamic_bsz else None,
        max(actor.ulysses_sequence_parallel_size, actor.fsdp_config.ulysses_sequence_parallel_size),
        actor.fsdp_config.fsdp_size,
    )
    if (config.algorithm.use_kl_in_reward or actor.use_kl_loss) and not policy.model.lora_rank:
        packed = ref.log_prob_use_dynamic_bsz
        yield Role(
            "reference",
            infer=None if packed else ref.log_prob_micro_batch_size_per_gpu,
            infer_tokens=ref.log_prob_max_token_len_per_gpu if packed else None,
            parallel=max(ref.ulysses_sequence_parallel_size, ref.fsdp_config.ulysses_sequence_parallel_size),
            shards=ref.fsdp_config.fsdp_size,
        )
    if _has_critic(config):
        budget = critic.get("ppo_infer_max_token_len_per_gpu", 32768)
        yield Role(  # by tokens, whatever use_dynamic_bsz says: trainer_base.py sets its engine's tokens alone
            "critic",
            critic.ppo_mini_batch_size,
            tokens=budget,
            infer_tokens=budget,
            parallel=critic.fsdp.ulysses_sequence_parallel_size,
            shards=critic.fsdp.fsdp_size,
        )


def _micro_batches(config: Any) -> Iterator[tuple[str, int]]:
    """Yield each setting of a micro batch that is read, and under how many of its names, old and new, it is set."""
    policy, critic = config.actor_rollout_ref, config.critic
    with_reference = config.algorithm.use_kl_in_reward or policy.actor.use_kl_loss
    for name, part, key, read in (
        ("actor_rollout_ref.actor", policy.actor, "ppo_micro_batch_size", not policy.actor.use_dynamic_bsz),
        ("critic", critic, "ppo_micro_batch_size", _has_critic(config) and not critic.use_dynamic_bsz),
        ("actor_rollout_ref.ref", policy.ref, "log_prob_micro_batch_size", with_reference),
        ("actor_rollout_ref.rollout", policy.rollout, "log_prob_micro_batch_size", True),
    ):
        if read and not (key.startswith("log_prob") and policy.actor.use_dynamic_bsz):
            yield f"{name}.{key}", sum(part.get(written) is not None for written in (key, f"{key}_per_gpu"))


def _has_critic(config: Any) -> bool:
    """verl/trainer/ppo/utils.py, ``need_critic``."""
    enable = config.critic.enable
    return bool(enable) if enable is not None else config.algorithm.adv_estimator == "gae"

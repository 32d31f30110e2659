"""The checksums of the actor's and of vLLM's weights: equal however a weight is cut, and not of another weight."""

import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from trainer.workers.weight_check import actor_side, vllm_side
from trainer.workers.weight_check.checksum import Sum, of_rows
from trainer.workers.weight_check.compare import WeightCheck, added, compare, with_wholes

DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1000, 7), (1000,), (3, 5), (257, 2, 2)])
def test_parts_add_up_to_the_whole(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """As FSDP cuts a weight, also into parts without a row, at any step."""
    weight, chance = torch.randn(shape), random.Random(0)
    for step in range(5):
        cuts = sorted(chance.randint(0, shape[0]) for _ in range(3))
        ends = zip([0, *cuts], [*cuts, shape[0]], strict=True)
        parts = [{"w": Sum(of_rows(weight[a:b], shape, dtype, a, step), shape, "")} for a, b in ends]
        whole = of_rows(weight.to(dtype), shape, dtype, 0, step)
        assert added(parts)["w"].value == whole


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_change_of_one_number_shows(dtype: torch.dtype) -> None:
    """By one unit in the last place, in a weight whose rows all count; in a large one within a stride of steps."""
    weight = torch.randn(200, 8).to(dtype)
    for _ in range(50):
        other = weight.clone()
        row, column = random.randrange(200), random.randrange(8)
        other[row, column] = torch.nextafter(other[row, column], torch.tensor(9.0, dtype=dtype))
        assert of_rows(other, (200, 8), dtype) != of_rows(weight, (200, 8), dtype)
    swapped = weight[[1, 0, *range(2, 200)]]
    assert of_rows(swapped, (200, 8), dtype) != of_rows(weight, (200, 8), dtype)
    large = torch.randn(1000, 2).to(dtype)
    other = large.clone()
    other[617] += 1
    found = [
        of_rows(other, (1000, 2), dtype, 0, step) != of_rows(large, (1000, 2), dtype, 0, step) for step in range(4)
    ]
    assert sum(found) == 1


class Joined(torch.nn.Module):
    """As vLLM holds attention: three weights in one."""

    def __init__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.cat([q, k, v]), requires_grad=False)
        self.output_sizes = [len(q), len(k), len(v)]


def both(dtype: torch.dtype) -> tuple[torch.nn.Module, Any]:
    """An actor in float32, and what vLLM makes of it, with a vocabulary that is padded."""
    sizes = {"q_proj": 8, "k_proj": 4, "v_proj": 4}
    actor = torch.nn.ModuleDict(
        {
            "attn": torch.nn.ModuleDict({name: torch.nn.Linear(8, size, bias=False) for name, size in sizes.items()}),
            "embed": torch.nn.Embedding(500, 8),
            "norm": torch.nn.LayerNorm(8, bias=False),
        }
    )
    weights = dict(actor.named_parameters())
    embed = torch.nn.Embedding(512, 8)
    embed.weight.data[:500] = weights["embed.weight"].detach()
    embed.org_vocab_size = 500
    norm = torch.nn.LayerNorm(8, bias=False)
    model = torch.nn.ModuleDict(
        {
            "attn": torch.nn.ModuleDict({"qkv_proj": Joined(*(weights[f"attn.{name}.weight"] for name in sizes))}),
            "embed": embed,
            "norm": norm,
        }
    ).to(dtype)
    model.packed_modules_mapping = {"qkv_proj": list(sizes)}
    return actor, SimpleNamespace(model=model)


def looked(actor: torch.nn.Module, runner: Any, step: int = 3) -> tuple[int, list[str]]:
    sampled = vllm_side.sums(runner, step)
    dtypes = {name: each.dtype for name, each in sampled.items()}
    return compare(added([actor_side.sums(actor, dtypes, step)]), [sampled], trained=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_joined_and_padded_weights_are_compared(dtype: torch.dtype) -> None:
    actor, runner = both(dtype)
    assert looked(actor, runner) == (5, [])
    actor["attn"]["k_proj"].weight.data[2] += 0.5
    assert looked(actor, runner) == (5, ["attn.k_proj.weight"])
    runner.model["norm"].weight.data *= 2
    assert looked(actor, runner)[1] == ["attn.k_proj.weight", "norm.weight"]


def adapted(scale: float, dtype: torch.dtype) -> tuple[Any, Any, dict[str, Any]]:
    """An actor with LoRA's adapter, and a manager of vLLM's that holds it: scaled, two of three layers joined."""
    from peft import LoraConfig, get_peft_model

    base = torch.nn.ModuleDict({name: torch.nn.Linear(8, 8, bias=False) for name in ("q_proj", "v_proj", "o_proj")})
    base.config = SimpleNamespace(get=lambda *_: None, tie_word_embeddings=False)
    config = LoraConfig(r=4, lora_alpha=int(4 * scale), target_modules=["q_proj", "v_proj", "o_proj"])
    actor = get_peft_model(base, config)
    weights = {name: weight.data for name, weight in actor.named_parameters() if "lora" in name}
    for weight in weights.values():
        weight.normal_()

    def of(kind: str, name: str) -> torch.Tensor:
        own = weights[f"base_model.model.{name}.lora_{kind}.default.weight"].to(dtype)
        return own * scale if kind == "B" else own.clone()

    loras = {
        "qkv_proj": SimpleNamespace(
            lora_a=[of("A", "q_proj"), None, of("A", "v_proj")], lora_b=[of("B", "q_proj"), None, of("B", "v_proj")]
        ),
        "o_proj": SimpleNamespace(lora_a=of("A", "o_proj"), lora_b=of("B", "o_proj")),
    }
    manager = SimpleNamespace(
        packed_modules_mapping={"qkv_proj": ["q_proj", "k_proj", "v_proj"]},
        get_adapter=lambda _: SimpleNamespace(loras=loras) if loras else None,
    )
    runner = SimpleNamespace(model=torch.nn.Module(), lora_manager=SimpleNamespace(_adapter_manager=manager))
    return actor, runner, loras


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1, 2, 3])
def test_adapters_are_compared_as_vllm_scales_them(dtype: torch.dtype, scale: float) -> None:
    actor, runner, loras = adapted(scale, dtype)

    def looked_at() -> tuple[int, list[str]]:
        sampled = vllm_side.sums(runner, 1)
        dtypes = {"": str(dtype).removeprefix("torch.")}
        return compare(added([actor_side.sums(actor, dtypes, 1)]), [sampled], trained=True)

    assert looked_at() == (6, [])
    loras["qkv_proj"].lora_b[2] += 0.5
    assert looked_at() == (6, ["v_proj.lora_B"])
    loras.clear()
    count, stale = looked_at()
    assert count == 6 and len(stale) == 6, "an adapter that was not sent"


HEADS, KV_HEADS, HEAD, HIDDEN, WORDS = 4, 2, 4, 8, 300


class Layer(torch.nn.Module):
    """A worker's share of one of vLLM's layers, which are known by their names."""

    def __init__(self, weight: torch.Tensor, rank: int = 0, workers: int = 1, **more: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight.clone(), requires_grad=False)
        self.tp_rank, self.tp_size = rank, workers
        vars(self).update(more)


Columns, Rows = (type(name, (Layer,), {}) for name in ("ColumnParallelLinear", "RowParallelLinear"))


def spread(weights: dict[str, torch.Tensor], rank: int, workers: int) -> Any:
    """A runner of one of vLLM's workers: attention, an output projection, a head of all words, a norm."""

    def share(weight: torch.Tensor, dim: int = 0, rank: int = rank, workers: int = workers) -> torch.Tensor:
        return weight.chunk(workers, dim)[rank]

    copies = max(1, workers // KV_HEADS)
    kv = [share(weights[f"{name}_proj.weight"], 0, rank // copies, workers // copies) for name in "kv"]
    qkv = torch.cat([share(weights["q_proj.weight"]), *kv])
    sizes = [HEADS * HEAD, *2 * [max(KV_HEADS, workers) * HEAD]]
    each = -(-WORDS // 64) * 64 // workers  # with words that pad it
    first, last = min(rank * each, WORDS), min((rank + 1) * each, WORDS)
    cut = SimpleNamespace(org_vocab_start_index=first, num_org_elements=last - first)
    head = torch.cat([weights["lm_head.weight"][first:last], torch.randn(each - (last - first), HIDDEN)])
    made = {
        "qkv_proj": Columns(qkv, rank, workers, output_sizes=sizes, num_kv_head_replicas=copies),
        "up_proj": Columns(share(weights["up_proj.weight"]), rank, workers),
        "o_proj": Rows(share(weights["o_proj.weight"], 1), rank, workers),
        "lm_head": Layer(head, rank, workers, org_vocab_size=WORDS, shard_indices=cut),
        "norm": Layer(weights["norm.weight"]),
    }
    model = torch.nn.ModuleDict(made)
    model.packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
    return SimpleNamespace(model=model)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_of_a_model_that_is_spread_all_weights_are_compared(workers: int) -> None:
    """Four workers have two heads of keys and values among them, each twice."""
    sizes = {"q_proj": HEADS * HEAD, "k_proj": KV_HEADS * HEAD, "v_proj": KV_HEADS * HEAD, "up_proj": 12}
    weights = {f"{name}.weight": torch.randn(size, HIDDEN) for name, size in sizes.items()}
    weights |= {"o_proj.weight": torch.randn(HIDDEN, HEADS * HEAD), "norm.weight": torch.randn(HIDDEN)}
    weights["lm_head.weight"] = torch.randn(WORDS, HIDDEN)

    def of_actor(step: int) -> dict[str, Sum]:
        values = {
            name: of_rows(weight, tuple(weight.shape), torch.float32, 0, step) for name, weight in weights.items()
        }
        return {name: Sum(value, tuple(weights[name].shape), "float32") for name, value in values.items()}

    for step in range(3):
        held = [vllm_side.sums(spread(weights, rank, workers), step) for rank in range(workers)]
        assert compare(of_actor(step), with_wholes(held), trained=True) == (7, [])
    runners = [spread(weights, rank, workers) for rank in range(workers)]
    runners[-1].model["o_proj"].weight[0, -1] += 1
    runners[0].model["lm_head"].weight[1] += 1  # a row that counts at step 1
    sampled = with_wholes([vllm_side.sums(runner, 1) for runner in runners])
    assert set(compare(of_actor(1), sampled, trained=True)[1]) == {"o_proj.weight", "lm_head.weight"}
    if workers > 1:
        assert compare(of_actor(2), with_wholes(held[:-1]), trained=True)[0] == 1, "what is not whole is not compared"


def test_a_weight_of_another_shape_or_type_is_not_compared() -> None:
    own = {"a": Sum(1, (4, 2), "float32"), "b": Sum(2, (4,), "float32")}
    workers = [{"a": Sum(9, (2, 2), "float32"), "b": Sum(value, (4,), "float32")} for value in (2, 3)]
    assert compare(own, with_wholes(workers), trained=True) == (1, ["b"])
    assert compare(own, [{"b": Sum(7, (4,), "bfloat16")}], trained=True) == (0, [])


def test_a_check_that_fails_ends_no_run(caplog: pytest.LogCaptureFixture) -> None:
    check = WeightCheck.of({"lora_rank": 8})
    for _ in range(2):
        check.look([SimpleNamespace()], None, 1)
    assert check.metrics == {} and caplog.text.count("cannot be compared") == 1


def test_weights_with_the_adapters_in_them_are_not_compared(caplog: pytest.LogCaptureFixture) -> None:
    """With verl's ``model.lora.merge`` vLLM's weights are none that the actor has, and that is no fault."""
    check = WeightCheck.of({"lora_rank": 8, "lora": {"merge": True}})
    check.look([SimpleNamespace()], None, 1)
    assert check.metrics == {} and caplog.text == ""
    whole = WeightCheck.of({"lora_rank": 0, "lora": {"merge": True}})  # of no adapters
    whole.look([SimpleNamespace()], None, 1)
    assert caplog.text.count("cannot be compared") == 1

"""How a step grows: on paper for H100s, up to 128 of them, and measured here. docs/scaling.md has both.

    .venv/bin/python -m tests.bench.scaling              # the tables of the page, from the formulas below
    .venv/bin/python -m tests.bench.scaling --measure    # here: batches, lengths, models, ranks; seconds by phase

The sizes of a run are those of ``trainer.checks.forecast``; nothing here has been held against a GPU yet.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.bench import step
from trainer.checks.forecast import advice, memory
from trainer.checks.forecast.model import ModelSize, of_config
from trainer.checks.forecast.run import RunSize

GIB = 1 << 30
QWEN = {  # hidden, layers, heads, heads of keys and values, inner size, tied embeddings: the models' public config.json
    "0.5B": (896, 24, 14, 2, 4864, True),
    "7B": (3584, 28, 28, 4, 18944, False),
    "32B": (5120, 64, 40, 8, 27648, False),
    "72B": (8192, 80, 64, 8, 29568, False),
}
GPUS = (1, 8, 16, 32, 64, 128)
MICRO = 8192  # tokens of a forward pass on one GPU


@dataclass(frozen=True)
class Hardware:
    """An H100 SXM of 80 GB in machines of eight, by its data sheet, and what a well-kept run gets of it."""

    flops: float = 989e12 * 0.4  # dense bfloat16, at 40 % MFU
    memory: int = 80 * 10**9
    hbm: float = 3.35e12 * 0.6  # bytes a second
    nvlink: float = 450e9 * 0.7  # bytes a second, one way, a GPU
    network: float = 50e9 * 0.8  # 400 Gbit/s a GPU
    a_machine: int = 8

    def link(self, gpus: int) -> float:
        """Bytes a second that a GPU gets from ``gpus`` others at the slowest place of the ring."""
        return self.nvlink if gpus <= self.a_machine else self.network


@dataclass(frozen=True)
class Step:
    """A step of PPO: ``samples`` with ``prompt`` and ``response`` tokens on the mean, ``epochs`` of updates."""

    samples: int = 1024
    prompt: int = 512
    response: int = 512
    epochs: int = 1

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.samples * (self.prompt + self.response)


def model(name: str) -> ModelSize:
    """Return the sizes of a Qwen2.5."""
    hidden, layers, heads, kv, inner, tied = QWEN[name]
    found = of_config(
        {
            "architectures": ["Qwen2ForCausalLM"], "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv, "intermediate_size": inner,
            "vocab_size": 152064, "tie_word_embeddings": tied,
        }
    )  # fmt: skip
    assert found is not None
    return found


def run(gpus: int, work: Step, parallel: int, offload: bool = False) -> RunSize:
    """Return the sizes of a run on ``gpus`` of the kit's defaults, vLLM replicas of ``parallel`` of them."""
    names = frozenset({"actor", "critic"} if offload else ())
    length = work.prompt + work.response
    return RunSize(
        "cuda", gpus, min(gpus, 8), 2, length, MICRO, MICRO, MICRO,
        offload=names, tensor_parallel=parallel, logits_share=work.response / length,
    )  # fmt: skip


def fitting(size: ModelSize, gpus: int, work: Step, hardware: Hardware) -> RunSize | None:
    """Return the run that fits into memory with the fewest GPUs a replica, offloading only where it must; or None."""
    for offload in (False, True):
        for parallel in (1, 2, 4, 8):
            made = run(gpus, work, parallel, offload)
            if parallel <= gpus and advice.fits(size, made, hardware.memory):
                return made
    return None


def seconds(size: ModelSize, made: RunSize, work: Step, hardware: Hardware) -> dict[str, float]:
    """Return the seconds of each phase of a step; the larger of arithmetic and what must be moved for it."""
    n, gpus, parallel = size.total, made.ranks, made.tensor_parallel
    each = work.samples * parallel / gpus  # samples a replica
    kept = memory.kv_bytes_of_token(size, 2) * (work.prompt + work.response / 2)
    room = max(1, memory.kv_cache(size, made, hardware.memory)) * parallel
    at_once = min(each, room / (memory.kv_bytes_of_token(size, 2) * (work.prompt + work.response)))
    read = (2 * n + at_once * kept) / (parallel * hardware.hbm)
    computed = 2 * n * at_once / (parallel * hardware.flops)
    rounds = each / at_once
    prefill = 2 * n * each * work.prompt / (parallel * hardware.flops)
    passes = work.tokens / gpus / made.update_tokens  # forward passes of a GPU
    link = hardware.link(gpus) / ((gpus - 1) / gpus or 1e-12)

    def phase(flops: float, moved: float) -> float:
        return passes * max(flops * n * made.update_tokens / hardware.flops, moved * n / link)

    update = work.epochs * phase(8, 8)  # with recomputed layers; gathered twice in bfloat16, gradients in float32
    return {
        "rollout": rounds * work.response * max(read, computed) + prefill,
        "log-probs, reference, values": 3 * phase(2, 2),
        "critic update": update,
        "actor update": update,
        "weights to vLLM": 2 * n / link,
    }


def paper(work: Step, hardware: Hardware) -> Iterator[str]:
    """Yield the tables of the page."""
    names = ("Model", "GPUs", "replica", "offload", "peak, GiB", "rollout", "passes", "updates", "sync", "step, s")
    yield f"| {' | '.join(names)} | tokens/s a GPU |\n" + "|---" * (len(names) + 1) + "|"
    for name in QWEN:
        size = model(name)
        for gpus in GPUS:
            made = fitting(size, gpus, work, hardware)
            if made is None:
                yield f"| {name} | {gpus} | - | - | does not fit | | | | | | |"
                continue
            peak = max(advice.on_device(size, made, hardware.memory).values()) / GIB
            found = seconds(size, made, work, hardware)
            rollout, passes, critic, actor, sync = found.values()
            whole = sum(found.values())
            yield (
                f"| {name} | {gpus} | {made.tensor_parallel} | {'yes' if made.offload else 'no'} | {peak:.0f} "
                f"| {rollout:.1f} | {passes:.1f} | {critic + actor:.1f} | {sync:.2f} | {whole:.1f} "
                f"| {work.tokens / whole / gpus:,.0f} |"
            )
    yield ""
    for where, link in (("within a machine", hardware.nvlink), ("between machines", hardware.network)):
        yield f"- {where}, arithmetic hides FSDP's traffic from {hardware.flops / link:,.0f} tokens a GPU and pass on"


def judged(work: Step, hardware: Hardware) -> Iterator[str]:
    """Yield which rate of calls the judge must answer so that a step does not wait for it."""
    yield "| Model | GPUs | step without a judge, s | calls a minute that it takes |\n|---|---|---|---|"
    for name, gpus in (("0.5B", 8), ("7B", 8), ("7B", 64), ("32B", 128)):
        size = model(name)
        made = fitting(size, gpus, work, hardware)
        assert made is not None
        found = seconds(size, made, work, hardware)
        yield f"| {name} | {gpus} | {sum(found.values()):.1f} | {60 * work.samples / found['rollout']:,.0f} |"


def measured() -> Iterator[str]:
    """Run models of two sizes, with each of some shapes; yield medians of seconds by phase."""
    names = ("gen", "old_log_prob", "ref", "values", "update_critic", "update_actor", "update_weights", "step")
    yield "| model | ranks | prompts x tokens | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 3) + "|"
    tiny = [(1, 32, 8), (1, 128, 8), (1, 512, 8), (1, 128, 32), (1, 128, 128), (2, 128, 8)]
    smollm2 = [(1, 16, 16), (1, 32, 16), (2, 32, 16)]
    for name, ranks, batch, tokens in (*(("tiny", *each) for each in tiny), *(("smollm2", *each) for each in smollm2)):
        flags = {"--model": f"builtin:{name}", "--dtype": "float32", "--data": "builtin:arith", "--total_steps": 6}
        flags |= {"--batch_size": batch, "--mini_batch_size": batch // 2, "--max_response_length": tokens}
        flags |= {"--critic_layers": "auto", "--old_log_probs": "actor"}
        words = [str(word) for pair in {**flags, "--n_gpus": ranks}.items() for word in pair]
        steps, _ = step.record([*words, "actor_rollout_ref.rollout.ignore_eos=true"])
        found = step.medians(steps[step.FIRST - 1 :])
        phases = " | ".join(f"{found.get(f'timing_s/{phase}', 0):.2f}" for phase in names)
        yield f"| {name} | {ranks} | {batch} x {tokens} | {phases} |"


def main() -> None:
    """Print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.measure:
        for line in measured():
            print(line, flush=True)
        return
    work, hardware = Step(), Hardware()
    for line in (*paper(work, hardware), "", *judged(work, hardware)):
        print(line)
    long = replace(work, samples=128, response=8192)
    print(f"\n{long.samples} samples of {long.prompt} + {long.response} tokens:")
    print("\n".join(paper(long, hardware)))


if __name__ == "__main__":
    main()

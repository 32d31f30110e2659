"""The kit's defaults beside verl's own PPO example for the same model: tokens a second and MFU by phase, on one GPU.

    .venv/bin/python -m tests.bench.gpu [--shape 0.5B|tiny] [--steps 8] [--rounds 2] [train.sh arguments]

The shape of Qwen2.5-0.5B with random weights, 256 prompts of 64 to 480 tokens, 512 new ones each, one epoch of four
updates: the work of verl's quickstart, and here of both, in turns; verl's part has its own engines too. MFU counts 2N
operations a token of a forward pass and 6N of an update, N parameters without the input embeddings, against --peak.
--shape tiny is for trying this file with no GPU, where verl's part keeps FSDP2: FSDP1 does not start there.
"""

import argparse
import json
import random
import tempfile
from collections import defaultdict
from pathlib import Path

from data import models
from tests.bench import step
from tests.bench.scaling import QWEN
from trainer import ROOT

# examples/ppo_trainer and the quickstart of verl 0.9.1: what they set beside the sizes of the work.
EXAMPLE = [
    *step.BARE,
    "actor_rollout_ref.actor.strategy=fsdp",
    "actor_rollout_ref.actor.fsdp_config.strategy=fsdp",
    "actor_rollout_ref.ref.fsdp_config.strategy=fsdp",
    "critic.strategy=fsdp",
    "critic.fsdp.strategy=fsdp",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4",
    "critic.ppo_micro_batch_size_per_gpu=4",
    "critic.ppo_infer_max_token_len_per_gpu=32768",
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.4",
]
PEAK = 989e12  # operations a second of an H100 or H200, dense bfloat16
SETTINGS = {"the kit": [], "verl's example": EXAMPLE}
ENGINES = {"the kit": {}, "verl's example": {"PYTHONPATH": str(ROOT / "tests" / "bench" / "verl_engines")}}
# Phase -> operations a parameter and token, and whether prompts are among its tokens.
PHASES = {
    "gen": (2, False),
    "old_log_prob": (2, True),
    "ref": (2, True),
    "values": (2, True),
    "update_critic": (6, True),
    "update_actor": (6, True),
}


def make_model(name: str, folder: Path) -> Path:
    """Write a model of a public shape with random weights, and the tokenizer of builtin:tiny; return its folder."""
    import torch
    from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

    tiny = Path(models.find_or_make("builtin:tiny", ROOT / "outputs" / "cache" / "models", 1, print).path)
    if name == "tiny":
        return tiny
    hidden, layers, heads, kv_heads, inner, tied = QWEN[name]
    config = Qwen2Config(
        vocab_size=151936,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        intermediate_size=inner,
        tie_word_embeddings=tied,
        max_position_embeddings=32768,
        rope_theta=1e6,
    )
    torch.manual_seed(1)
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder / "model")
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder / "model")
    return folder / "model"


def make_data(folder: Path, shortest: int, longest: int) -> Path:
    """Write sums of many numbers, whose characters are tokens to that tokenizer; return the file."""
    draw, rows = random.Random(1), []
    for _ in range(2048):
        numbers = [draw.randrange(10, 100) for _ in range(draw.randrange(shortest // 3, longest // 3))]
        prompt, answer = "+".join(map(str, numbers)) + "=", str(sum(numbers))
        rows.append({"data_source": "arith", "prompt": prompt, "ground_truth": answer})
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "sums.jsonl"


def count(folder: Path) -> int:
    """Return how many parameters a model computes with: all, but for embeddings that are not its head too."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    apart = model.get_output_embeddings().weight is not model.get_input_embeddings().weight
    total = sum(each.numel() for each in model.parameters())
    return int(total - apart * model.get_input_embeddings().weight.numel())


def main() -> None:
    """Run both in turns; print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=[*QWEN, "tiny"], default="0.5B")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peak", type=float, default=PEAK, help="operations a second of the GPU")
    options, arguments = parser.parse_known_args()
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        weights = make_model(options.shape, Path(folder))
        parameters = count(weights)
        both = commands(weights, Path(folder), options.shape == "tiny", options.steps)
        for _ in range(options.rounds):
            for name, words in both.items():
                steps, _ = step.record([*words, *arguments], **ENGINES[name])
                found[name] += steps[step.FIRST - 1 :]
    print(table({name: step.medians(rows) for name, rows in found.items()}, parameters, options.peak))


def commands(weights: Path, folder: Path, small: bool, steps: int) -> dict[str, list[str]]:
    """Return the arguments of ``train.sh`` of both; the data are written to a folder."""
    data = make_data(folder, 12, 60) if small else make_data(folder, 64, 480)
    sizes = {"batch_size": 16 if small else 256, "mini_batch_size": 8 if small else 64}
    sizes |= {"max_prompt_length": 64 if small else 512, "max_response_length": 16 if small else 512}
    work = ["--model", str(weights), "--data", str(data), "--total_steps", str(steps)]
    work += [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    work += ["actor_rollout_ref.rollout.ignore_eos=true"]
    kept = {name: [word for word in words if not (small and "strategy=" in word)] for name, words in SETTINGS.items()}
    return {name: [*work, *words] for name, words in kept.items()}


def table(found: dict[str, dict[str, float]], parameters: int, peak: float) -> str:
    """Return seconds, tokens a second and MFU of each phase, and how many times faster the first is."""
    lines = [
        "| Phase | " + " | ".join(f"{name}: s, tokens/s, MFU" for name in found) + " | Ratio |",
        "|---|---|---|---|",
    ]
    for phase in (*PHASES, "step"):
        operations, prompts = PHASES.get(phase, (0, True))
        cells, seconds = [], []
        for row in found.values():
            samples = row["perf/total_num_tokens"] / (row["prompt_length/mean"] + row["response_length/mean"])
            tokens = samples * (row["prompt_length/mean"] * prompts + row["response_length/mean"])
            seconds.append(row[f"timing_s/{phase}"])
            mfu = f", {operations * parameters * tokens / seconds[-1] / peak:.1%}" if operations else ""
            cells.append(f"{seconds[-1]:.2f}, {tokens / seconds[-1]:,.0f}{mfu}")
        lines.append(f"| {phase} | {' | '.join(cells)} | {seconds[1] / seconds[0]:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

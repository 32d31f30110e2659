"""A reward model tried before a launch: ``python -m reward.model.smoke_test RESULT``, the request on stdin as JSON.

It ranks the built-in pairs; with ``calibrate`` it also scores answers of the reference policy. In a process of its
own, as its weights must be gone when Ray starts, and may not fit.
"""

import asyncio
import dataclasses
import json
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward.model import preference_pairs
from reward.model.client import RewardModelClient
from reward.model.encoder import Encoder
from reward.model.errors import RewardModelError
from reward.model.messages import Messages, conversation
from reward.model.serving.engine import RewardEngine
from reward.model.spec import RewardModelSpec
from reward.support.secret import excerpt


@dataclass(frozen=True)
class Calibrate:
    """Answers to have of the reference policy."""

    policy: str  # a folder
    prompts: tuple[Messages, ...]
    temperature: float
    max_tokens: int
    seed: int


def all_scores(spec: RewardModelSpec, talks: Sequence[Messages]) -> list[float]:
    """Return the raw score of each conversation: of the running server, or of the model in this process.

    Raises:
        GraderFailed: one cannot be encoded, or the server gives no score.
    """
    if not spec.url:
        encoder = Encoder(spec)
        return RewardEngine(spec).scores([encoder.encode(talk) for talk in talks])
    client = RewardModelClient(spec)

    async def ask() -> list[float]:
        return [result["rm_raw"] for result in await asyncio.gather(*map(client.score, talks))]

    return asyncio.run(ask())


def try_out(spec: RewardModelSpec) -> tuple[list[str], list[str]]:
    """Score the built-in pairs; return faults, and lines to be told.

    Raises:
        GraderFailed: a pair has no score.
    """
    known = preference_pairs.read(preference_pairs.BUILTIN)
    scores = all_scores(spec, [talk for pair in known for talk in (pair.chosen, pair.rejected)])
    if not all(map(math.isfinite, scores)):
        return ["its scores are not finite (NaN or infinite): look at its weights, or give --dtype float32"], []
    if preference_pairs.constant(scores):
        return [
            f"it gives every answer {scores[0]:g}: nothing can be learnt from that; its head is not loaded or untrained"
        ], []
    rankings = preference_pairs.rank(known, scores[::2], scores[1::2])
    lines = [str(ranking) for ranking in rankings]
    weak = [ranking for ranking in rankings if 2 * ranking.right <= ranking.total]
    if weak:
        names = ", ".join(ranking.group for ranking in weak)
        lines.append(
            f"{preference_pairs.WARNING}it does not rank good answers above bad ones in {names}; is it the right model?"
        )
    return [], lines


def answers(request: Calibrate) -> list[str]:
    """Sample one answer of the reference policy to each prompt."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(request.policy, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(request.policy, dtype="auto").to(device).eval()
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    torch.manual_seed(request.seed)
    inputs = tokenizer.apply_chat_template(
        [list(prompt) for prompt in request.prompts],
        add_generation_prompt=True, padding=True, return_tensors="pt", return_dict=True,
    ).to(device)  # fmt: skip
    options = {"do_sample": True, "temperature": request.temperature, "top_k": 0, "top_p": 1.0}
    with torch.inference_mode():
        generated = model.generate(**inputs, **options, max_new_tokens=request.max_tokens)
    return [str(text) for text in tokenizer.batch_decode(generated[:, inputs["input_ids"].shape[1] :], True)]


def calibrate(spec: RewardModelSpec, request: Calibrate) -> tuple[float, float]:
    """Return mean and standard deviation of the scores of the reference policy's answers.

    Raises:
        RewardModelError: they are all the same.
        GraderFailed: one has no score.
    """
    replies = answers(request)
    scores = all_scores(spec, [conversation(p, r) for p, r in zip(request.prompts, replies, strict=True)])
    if preference_pairs.constant(scores):
        raise RewardModelError(
            "the reference policy's answers all have one score: --rm_normalize calibrated has no scale"
        )
    return statistics.fmean(scores), statistics.pstdev(scores)


def main() -> None:
    """Do what stdin asks; write ``faults``, ``lines``, ``mean`` and ``std`` to the file named."""
    asked: dict[str, Any] = json.load(sys.stdin)
    spec = dataclasses.replace(
        RewardModelSpec.loads(json.dumps(asked["spec"])), actors=0, engine="transformers", normalize="raw"
    )
    result: dict[str, Any] = {"mean": 0.0, "std": 1.0, "lines": []}
    try:
        result["faults"], result["lines"] = try_out(spec)
        if asked.get("calibrate") and not result["faults"]:
            request = Calibrate(**asked["calibrate"])
            result["mean"], result["std"] = calibrate(spec, request)
            subject = f"{len(request.prompts)} answers of the reference policy: "
            result["lines"].append(f"{subject}mean {result['mean']:.4f}, standard deviation {result['std']:.4f}")
    except RewardModelError as error:
        result["faults"] = list(error.faults)
    except Exception as error:  # of the model's own code, of a device: the caller tells it in one line
        reason = str(error).strip().splitlines() or [type(error).__name__]
        result["faults"] = [f"it cannot score the built-in pairs: {excerpt(reason[0], 300)}"]
    Path(sys.argv[1]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()

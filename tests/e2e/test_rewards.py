"""Training on reward models and judges with the whole stack, with no GPU.

Marked e2e: a reward model that vLLM serves in the policy's own pool, and all three kinds of reward in one composite.
"""

import json
import random
import sys

import pytest
import yaml

from tests.support import reward_models
from tests.support.command import copy_of_the_kit, metrics, train_sh
from tests.support.judge_server import Asked, JudgeServer, judge_of_sums

SMALL = ("--batch_size", "32", "--mini_batch_size", "32", "--total_steps", "2")
SECRET = "sk-of-the-judge-0123456789"
WEIGHTS = {"rule_score": 0.5, "rm_score": 0.2, "judge_score": 0.3}


@pytest.mark.stack
def test_rules_and_a_reward_model_in_the_policys_pool(output, tmp_path) -> None:
    """Beside a model in the same pool verl hands a reward function prompts alone; the model's scores are z-scored."""
    kit = copy_of_the_kit(tmp_path / "kit")
    weights = {"rule_score": 0.7, "rm_score": 0.3}
    section = {"enable": True, "weights": weights}
    (kit / "config" / "reward_model_config.yaml").write_text(yaml.safe_dump({"composite_reward": section}))
    folder = reward_models.skywork_qwen3(tmp_path / "rm")
    model = ("--reward_model", str(folder), "--rm_engine", "vllm", "--rm_gpus", "0", "--rm_normalize", "running")
    arguments = ("--run_name", "pool", *model, *SMALL)
    result = train_sh(*arguments, root=kit, timeout=1800, OUTPUT_DIR=str(output), VENV=sys.prefix)
    assert result.status == 0, result.err
    assert "held-out accuracy: " in result.out  # the rule's: held-out answers have the keys of training's
    found = metrics(output / "runs" / "pool")
    for step in (1, 2):
        parts = {name: found[step][f"reward/{name}_scaled"] for name in weights}
        assert found[step]["reward_mean"] == pytest.approx(sum(weights[n] * parts[n] for n in weights), abs=1e-6)
        assert found[step]["reward/unscored_share"] == 0.0
        assert found[step]["reward/rule_score_scaled"] == found[step]["reward/rule_score"] > 0
    assert found[1]["reward/rm_score_scaled"] == pytest.approx(0.0, abs=1e-6)  # of the first batch, by itself
    assert found[1]["reward/rm_score_seen_mean"] == pytest.approx(found[1]["reward/rm_score"], abs=1e-6)
    (saved,) = (output / "checkpoints" / "pool").glob("global_step_2/kit_state.json")
    seen = json.loads(saved.read_text())["zscores"]["rm_score"]
    assert seen["count"] == 64
    assert seen["mean"] == pytest.approx((found[1]["reward/rm_score"] + found[2]["reward/rm_score"]) / 2, abs=1e-6)


def test_rules_a_reward_model_and_a_judge_together(output, tmp_path) -> None:
    """The judge's API fails for one of ten requests; its key is nowhere to be found. Step 2 is sampled ahead."""
    kit = copy_of_the_kit(tmp_path / "kit")
    section = {"enable": True, "weights": WEIGHTS, "scale": {"rm_score": "sigmoid"}}
    (kit / "config" / "reward_model_config.yaml").write_text(yaml.safe_dump({"composite_reward": section}))
    folder, chance = reward_models.deberta(tmp_path / "rm"), random.Random(0)

    def fault(_: Asked) -> str | None:
        return chance.choice(["429", "500", "reset", "bad_json"]) if chance.random() < 0.1 else None

    with JudgeServer(judge_of_sums, fault=fault) as server:
        arguments = ("--run_name", "all", "--reward_model", str(folder), *server.flags(), "--async", "overlap", *SMALL)
        result = train_sh(
            *arguments,
            root=kit,
            timeout=1800,
            OUTPUT_DIR=str(output),
            OPENAI_API_KEY=SECRET,
            VENV=sys.prefix,
        )
    assert result.status == 0, result.err
    found = metrics(output / "runs" / "all")
    for step in (1, 2):
        parts = {name: found[step][f"reward/{name}_scaled"] for name in WEIGHTS}
        expected = sum(weight * parts[name] for name, weight in WEIGHTS.items())
        assert found[step]["reward_mean"] == pytest.approx(expected, abs=1e-4)
        assert parts["judge_score"] == pytest.approx(parts["rule_score"], abs=1e-6)  # a perfect judge of sums
        assert found[step]["reward/unscored_share"] == 0.0
        assert found[step]["async/staleness_max"] == found[step]["async/staleness_mean"] == step - 1
        assert found[step]["rollout_corr/rollout_is_mean"] == pytest.approx(1, abs=0.1)
    assert "training/rollout_probs_diff_mean" in found[1] and "training/rollout_probs_diff_mean" not in found[2]
    assert sum(found[step]["judge/retries"] for step in (1, 2)) > 0
    files = [path for path in output.rglob("*") if path.is_file() and path.suffix not in (".pt", ".safetensors")]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in result.out + result.err

"""Weights that do not reach vLLM, and another temperature: each is noticed within a step, and nothing else is."""

import json
import time
from pathlib import Path

from tests.support.background import Start
from tests.support.command import FAULTS, metrics, train_sh

SMALL = ("--batch_size", "32", "--mini_batch_size", "16", "--test_freq", "-1", "--save_freq", "-1")


def test_what_is_not_the_actors_is_noticed_within_a_step(output: Path, start: Start) -> None:
    """Synced wrongly after step 1 and after step 3, and sampled colder in step 5. After step 6 a reward worker dies."""
    folder = output / "runs" / "faulty"
    flags = ("--run_name", "faulty", "--total_steps", "500", *SMALL)
    run = start(*flags, FAULTS="skip,layer,temperature", PYTHONPATH=FAULTS)
    run.until("step 1/")
    while max(metrics(folder)) < 6:
        assert run.process.poll() is None, run.said
        time.sleep(0.2)
    run.parts("ray::RewardLoopWorker")[0].kill()
    assert run.ends() == 1
    assert "train.sh: the run failed: RewardLoopWorker died without an exception" in run.said
    steps = metrics(folder)
    stale = {step: steps[step]["sync/stale_weights"] for step in range(1, 7)}
    compared = steps[1]["sync/compared_weights"]
    assert stale[1] == compared > 20, "all were trained on"
    assert 0 < stale[3] < compared, "those of one layer"
    assert [stale[step] for step in (2, 4, 5, 6)] == [0, 0, 0, 0]
    beyond = [s for s in range(1, 7) if steps[s]["training/rollout_probs_diff_mean"] > steps[s]["off_policy/limit"]]
    assert set(beyond) >= {2, 5} and set(beyond) <= {2, 4, 5}, "sampled with what was stale, and colder"
    assert "ALARM off_policy: after the weight sync, " in run.said
    log = (folder / "train.log").read_text()
    assert "step 3: vLLM samples with other weights than the actor's: model.layers.1." in log


def test_an_adapter_that_is_not_sent_stops_the_run(output: Path) -> None:
    run = ("--run_name", "bare", "--total_steps", "4", "--lora_rank", "8", "--stop_on", "off_policy", *SMALL)
    result = train_sh(*run, timeout=600, OUTPUT_DIR=str(output), FAULTS="adapter", PYTHONPATH=FAULTS)
    assert result.status == 1, result.out + result.err
    assert "ALARM off_policy: after the weight sync, " in result.out + result.err
    assert "ended at step 1 by --stop_on off_policy: after the weight sync, 42 of 80 weights" in result.err
    assert json.loads((output / "runs" / "bare" / "summary.json").read_text())["state"] == "failed"
    assert max(metrics(output / "runs" / "bare")) <= 2

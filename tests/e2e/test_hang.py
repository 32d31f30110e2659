"""One rank of a real run is stopped in training: the launcher says so, and ends the run."""

import json
import subprocess
import time
from pathlib import Path

import psutil

from tests.support.command import clean_environment, footprint, metrics
from trainer import ROOT

SMALL = ("--batch_size", "32", "--mini_batch_size", "16", "--test_freq", "-1", "--save_freq", "1", "--n_gpus", "2")


def test_a_rank_that_is_stopped_is_named(output: Path) -> None:
    before = footprint()
    run = output / "runs" / "stuck"
    words = ("--run_name", "stuck", "--total_steps", "500", "--hang_timeout", "20", *SMALL)
    process = subprocess.Popen(
        [str(ROOT / "train.sh"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(OUTPUT_DIR=str(output)),
    )
    try:
        deadline = time.monotonic() + 400
        while not (run / "metrics.jsonl").is_file() or 2 not in metrics(run):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.5)
        ranks = [
            each
            for each in psutil.Process(process.pid).children(recursive=True)
            if "WorkerDict" in " ".join(each.cmdline())
        ]
        assert len(ranks) == 2
        ranks[1].suspend()
        said, _ = process.communicate(timeout=200)
    finally:
        process.kill()
    assert process.returncode == 1, said
    assert f"stopped by a signal or a debugger: rank of actor and critic (process {ranks[1].pid})" in said
    assert "ended by --hang_timeout; --resume stuck continues from " in said
    assert json.loads((run / "summary.json").read_text())["state"] == "failed"
    (stacks,) = run.glob("stacks-*.txt")
    text = stacks.read_text()
    assert f"{ranks[1].pid} [stopped] " in text and "VLLM::" in text and text.count("thread 0") > 5
    assert footprint() - before == set()

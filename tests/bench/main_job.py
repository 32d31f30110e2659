"""The main job, seed by seed: accuracy before and after, seconds, peak memory.

    .venv/bin/python -m tests.bench.main_job [--seeds 1 2 3] [train.sh arguments]

Memory is the sum of the proportional set sizes (PSS) of all processes of the run, which counts shared pages once.
"""

import argparse
import contextlib
import json
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from tests.support.command import clean_environment
from trainer import ROOT


def memory(process: psutil.Process) -> int:
    """Return the PSS of ``process`` and its descendants in bytes."""
    total = 0
    with contextlib.suppress(psutil.Error):
        for each in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                total += each.memory_full_info().pss
    return total


def run(seed: int, output: Path, arguments: list[str]) -> dict[str, object]:
    """Train with ``seed``; return the run's summary with the seconds of the command and its peak memory."""
    started, peak = time.monotonic(), 0
    command = [str(ROOT / "train.sh"), "--seed", str(seed), "--run_name", f"seed{seed}", *arguments]
    with psutil.Popen(command, env=clean_environment(OUTPUT_DIR=str(output)), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, memory(process))
            time.sleep(10)
    found = json.loads((output / "runs" / f"seed{seed}" / "summary.json").read_text())
    return {**found, "command_seconds": time.monotonic() - started, "peak_gib": peak / 2**30}


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options, arguments = parser.parse_known_args()
    print("| Seed | Before | After | Steps | Seconds | Peak GiB |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for seed in options.seeds:
            row = run(seed, Path(folder), arguments)
            print(
                f"| {seed} | {row['accuracy_before']:.1%} | {row['accuracy_after']:.1%} | {row['steps']} "
                f"| {row['command_seconds']:.0f} | {row['peak_gib']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

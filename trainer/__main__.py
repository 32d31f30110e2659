"""One run, from settings to summary: ``python -m trainer``, which ``train.sh`` starts.

settings -> data and model -> checks -> verl's configuration -> (Ray, verl) -> export -> summary.json
"""

import json
import os
import shlex
import sys
import time
from pathlib import Path

from trainer import compose, launch, preflight, processes
from trainer.settings import Settings, UserError, fail, read_settings


def say(text: str) -> None:
    """Print one line of the run's story."""
    print(text, flush=True)


def announce(settings: Settings) -> None:
    """Say in one line what was chosen for the person, where that is not what the table's defaults are."""
    if settings.text("DEVICE") == "cpu" and "DEVICE" not in os.environ.get("KIT_GIVEN", "").split():
        model, data = settings.text("MODEL_PATH"), settings.text("DATA")
        say(f"no GPU here: training {model} on {data} with the CPU build of the same stack (choose with --device)")


def run(settings: Settings) -> int:
    """Do everything; return the exit status."""
    started = time.monotonic()
    tmp: Path | None = None
    traces = processes.Traces()
    try:
        plan = preflight.check(settings, say)
        made = launch.new_run(settings)
        tmp = launch.temporary_folder()
        config = compose.resolve(launch.environment(settings, plan, made, tmp), settings.overrides)
        made.make_folders()
        compose.write(config, made.folder / "config.yaml")
        (made.folder / "command.txt").write_text(shlex.join(launch.command(made)) + "\n", encoding="utf-8")
        say(f"run {made.name}: everything that verl, Ray and vLLM print is in {made.folder / 'train.log'}")
        total = int(compose.select(config, "trainer.total_training_steps"))
        progress = launch.train(settings, made, total, tmp, traces, say)
        say("exporting the model")
        folder = launch.export(made)
    finally:
        launch.clean_up(tmp, traces)
    before, after = (progress.accuracies[i][1] if progress.accuracies else None for i in (0, -1))
    summary = {
        "run": made.name,
        "accuracy_before": before,
        "accuracy_after": after,
        "steps": progress.steps,
        "seconds": round(time.monotonic() - started, 1),
        "checkpoint": str(folder),
    }
    (made.folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    if before is not None and after is not None:
        say(f"held-out accuracy: {before:.1%} before, {after:.1%} after {progress.steps} steps")
    say(f"the trained model: {folder}")
    return 0


def main() -> int:
    """Run, and turn what went wrong into one message and an exit status."""
    processes.become_subreaper()
    launch.on_signals()
    try:
        settings = read_settings(os.environ, sys.argv[1:])
        announce(settings)
        return run(settings)
    except UserError as error:
        return fail(error)
    except launch.RunFailed as error:
        print(f"train.sh: {error}", file=sys.stderr)
        return 1
    except launch.Stopped as stopped:
        print(f"train.sh: stopped by {stopped}; every process of the run has ended", file=sys.stderr)
        return 128 + stopped.signum


if __name__ == "__main__":
    sys.exit(main())

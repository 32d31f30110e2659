"""The stages of a rehearsal, one after another; what needs a stage that failed is not rehearsed."""

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from data import parquet
from reward.support.events import Event
from trainer.checks.software import CPU_HEAD_SIZES
from trainer.commands.evaluation.job import Job
from trainer.commands.rehearsal import miniature, run_settings
from trainer.commands.rehearsal.inputs import Inputs
from trainer.commands.rehearsal.miniature import ModelSource
from trainer.commands.rehearsal.run_settings import KILLED_AFTER, STEPS, Miniatures
from trainer.commands.rehearsal.stages import NOT, Rehearsal, StageFailed
from trainer.commands.rehearsal.training import Training, run_command
from trainer.launch import processes
from trainer.launch.environment import of_device
from trainer.runs import metrics_file
from trainer.settings.settings import Settings

RUN = "rehearsal"
HERE = "trainer.commands.rehearsal"
MINIATURES = ("policy", "reward model", "critic", "data")
TRAINING = ("checks", "start", f"step {KILLED_AFTER}", "checkpoint", "kill", "resume", f"steps to {STEPS}", "export")
AFTERWARDS = ("load back", "eval")
PROBED = 2  # prompts that vLLM is tried with
HOW_SERVED = "vLLM's CPU build does not serve it: "


def rehearse(settings: Settings, real: Inputs, folder: Path, rehearsal: Rehearsal, traces: processes.Traces) -> None:
    """Rehearse all stages; faults are in ``rehearsal``."""
    cache = settings.output / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    (folder / "cache").symlink_to(cache)  # what vLLM has compiled, and the answers of a judge
    try:
        miniatures = _miniatures(settings, real, folder, rehearsal)
    except StageFailed:
        rehearsal.skip((*MINIATURES[3:], *TRAINING, *AFTERWARDS), "there is nothing to train")
        return
    knobs = run_settings.environment(settings, miniatures, folder, RUN)
    run = Training(knobs, run_settings.overrides(settings, miniatures), folder / "runs" / RUN, folder)
    try:
        _train(run, rehearsal)
    except StageFailed:
        rehearsal.skip((*TRAINING, *AFTERWARDS), "an earlier stage failed")
        return
    finally:
        run.stop(traces)
    _use(knobs, folder, rehearsal)
    if not rehearsal.faults:  # else they may be wanted
        (folder / "cache").unlink()  # that of all runs
        for weights in folder.glob("**/*.safetensors"):
            weights.unlink()
        shutil.rmtree(folder / "checkpoints")


def _miniatures(settings: Settings, real: Inputs, folder: Path, rehearsal: Rehearsal) -> Miniatures:
    """Make what stands in for the models and the data."""
    seed = settings.integer("SEED")

    def make(stage: str, source: ModelSource) -> Path:
        target = folder / stage.replace(" ", "_")
        with rehearsal.stage(stage) as row:
            job = folder / f"{target.name}.json"
            miniature.dump_job(source, target, seed, job)
            lines = run_command([f"{HERE}.miniature", str(job)], {}, job.with_suffix(".log"))
            config = json.loads((target / "config.json").read_text(encoding="utf-8"))
            row.text = (
                f"{config['architectures'][0]}, {_parameters(lines)}: random weights, vocabulary of {source.name}"
            )
        return target

    policy = make("policy", real.policy)
    reward_model = make("reward model", real.reward_model) if real.reward_model else None
    if real.reward_model and real.reward_model.stand_in:
        rehearsal.add("reward head", NOT, "its class is none of transformers': a Llama that scores stands in")
    critic = make("critic", real.critic) if real.critic else None
    train_file, val_file = folder / "train.parquet", folder / "val.parquet"
    held_out = run_settings.JUDGED_HELD_OUT_ROWS if run_settings.is_judged(settings) else run_settings.HELD_OUT_ROWS
    with rehearsal.stage("data") as row:
        rows = parquet.write_sample(real.files[0], run_settings.TRAIN_ROWS, train_file, run_settings.PROMPTS)
        more = parquet.write_sample(real.files[1], held_out, val_file)
        row.text = f"{rows} prompts of {parquet.row_count(real.files[0]):,}, {more} held out"
        if settings.text("ENV_NAME"):
            row.text = "seeds of the environment, which makes its own episodes"
    if settings.text("TOOLS"):
        rehearsal.add("calls", NOT, "random weights call no tools; these were loaded, and the prompts tell of them")
    reason = _unserved(settings, real, policy, val_file, folder)
    if reason:
        rehearsal.add("rollout", NOT, f"of {real.architecture.name}: {reason}; a Llama with its tokenizer stands in")
        with suppress(StageFailed), rehearsal.stage("own updates") as row:
            command = [f"{HERE}.load_back", str(policy), str(folder / "own_updates")]
            row.text = run_command(command, {}, folder / "own_updates.log")[-1]
        policy = make("stand-in", ModelSource(real.policy.name, real.policy.flag, stand_in=True))
    return Miniatures(policy, train_file, val_file, reward_model, critic)


def _parameters(lines: list[str]) -> str:
    count = next(line.split()[1] for line in lines if line.startswith("parameters "))
    return f"{int(count) / 1e6:,.1f}M parameters"


def _unserved(settings: Settings, real: Inputs, policy: Path, prompts: Path, folder: Path) -> str:
    """Return why vLLM's CPU build does not serve the policy's architecture; empty where it does."""
    size = real.architecture.head_size
    if size not in CPU_HEAD_SIZES:
        return f"{HOW_SERVED}attention heads of size {size}"
    if real.architecture.kind in miniature.PROVEN:
        return ""
    few, out, job = folder / "probe.parquet", folder / "probe.answers", folder / "probe.job"
    parquet.write_sample(prompts, PROBED, few)
    dtype = run_settings.precision(settings)
    Job(str(policy), str(few), str(out), 4, 1, 0.0, 1, dtype, eager=True, parallel=1, memory=0.5).write(job)
    try:
        device = of_device(settings.having(DEVICE="cpu", N_GPUS=1))
        run_command(["trainer.commands.evaluation.generate", str(job)], device, folder / "probe.log")
    except StageFailed as error:
        return HOW_SERVED + str(error)
    return ""


def _train(run: Training, rehearsal: Rehearsal) -> None:
    """Train, kill the launcher after a checkpoint, go on from it to the end."""
    with rehearsal.stage("checks") as row:
        run.start()
        run.wait(_has("launch"))
        row.text = "all that ./train.sh check looks at, on this run"
    with rehearsal.stage("start") as row:
        run.wait(_has("phase", name="ready"))
        row.text = f"{run.nodes} node{'s' * (run.nodes > 1)}: Ray, {run_settings.RANKS} ranks, vLLM on each"
    with rehearsal.stage(f"step {KILLED_AFTER}") as row:
        run.wait(lambda _: KILLED_AFTER in _metrics(run))
        row.text = _step_text(_metrics(run)[KILLED_AFTER])
    with rehearsal.stage("checkpoint"):
        run.wait(_has("checkpoint", step=KILLED_AFTER))
    with rehearsal.stage("kill") as row:
        run.kill()
        row.text = "SIGKILL to the launcher; every process of the run ended by itself"
    with rehearsal.stage("resume") as row:
        run.start(RESUME=RUN)
        run.wait(_has("phase", name="ready"))
        step = next(event.fields["step"] for event in run.news() if event.kind == "launch")
        if step < KILLED_AFTER:
            raise StageFailed(f"it went on after step {step}, and a checkpoint of step {KILLED_AFTER} was there")
        row.text = f"went on after step {step}"
    with rehearsal.stage(f"steps to {STEPS}") as row:
        run.wait(_has("checkpoint", step=STEPS))
        row.text = _step_text(_metrics(run).get(STEPS, {}))
    with rehearsal.stage("export"):
        run.end()


def _has(kind: str, **fields: object) -> Callable[[list[Event]], bool]:
    """Return whether there is an event of that kind and with these fields."""
    return lambda events: any(
        event.kind == kind and all(event.fields[name] == value for name, value in fields.items()) for event in events
    )


def _metrics(run: Training) -> Mapping[int, dict[str, Any]]:
    path = run.folder / "metrics.jsonl"
    if not path.is_file():
        return {}
    return dict(metrics_file.rows(path.read_text(encoding="utf-8").splitlines()))


def _step_text(metrics: Mapping[str, Any]) -> str:
    """Return what a step was about, from its metrics.

    Raises:
        StageFailed: no answer got a score.
    """
    unscored = float(metrics.get("reward/unscored_share") or 0.0)
    if unscored == 1.0:
        raise StageFailed("no answer got a verdict of the judge, or a score of the reward model: see its log")
    text = f"rollout, reward (mean {float(metrics.get('critic/score/mean', 0.0)):.3f}), updates"
    return text + f"; {unscored:.0%} of it without a verdict" * bool(unscored)


def _use(knobs: Mapping[str, str], folder: Path, rehearsal: Rehearsal) -> None:
    """Load the exported model as a stranger would, and evaluate it; neither needs the other."""
    model = folder / "checkpoints" / RUN / "model"
    place = {"OUTPUT_DIR": knobs["OUTPUT_DIR"]} | ({"MASTER_ADDR": "127.0.0.1"} if knobs["NNODES"] != "1" else {})
    with suppress(StageFailed), rehearsal.stage("load back") as row:
        row.text = run_command([f"{HERE}.load_back", str(model)], {}, folder / "load_back.log")[-1]
    with suppress(StageFailed), rehearsal.stage("eval") as row:
        lines = run_command(["trainer", "eval", RUN], place, folder / "eval.log")
        row.text = next((line for line in lines if "answering" in line), "")

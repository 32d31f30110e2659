"""From stacks to a cause: which process holds up the others, and what to do."""

import sysconfig
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trainer import ROOT
from trainer.launch.hang.stacks import Frame, Process

MOST = 3  # lines of where processes wait
# What a process is called -> what it is.
ROLES = (
    ("VLLM::", "vLLM's engine"),
    ("HttpServer", "vLLM's server"),
    ("RolloutWorker", "receiver of vLLM's weights"),  # with --async separate
    ("BatchWorker", "rollout worker"),
    ("AgentLoopWorker", "rollout worker"),
    ("RewardLoopWorker", "reward worker"),
    ("environments.tools.process", "tools"),
    ("environments.episode_process", "environment"),
    ("WorkerDict", "rank of actor and critic"),
    ("TaskRunner", "driver"),
    ("SimpleStorageUnit", "transfer queue"),
    ("TransferQueueController", "transfer queue"),
    ("raylet", "Ray"),
    ("gcs_server", "Ray"),
)
COLLECTIVES = ("torch/distributed/distributed_c10d.py", "torch/distributed/_functional_collectives.py")
# A thread whose innermost call is one of these waits for work, and holds up nobody.
IDLE = (
    ("threading.py", "wait"),
    ("concurrent/futures/thread.py", "_worker"),
    ("selectors.py", "select"),
    ("queue.py", "get"),
    ("ray/_private/worker.py", "main_loop"),
    ("multiprocessing/connection.py", "wait"),
)
KIT = tuple(str(ROOT / name) for name in ("trainer", "reward", "environments", "data"))
PACKAGES = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib", "platstdlib"))


@dataclass(frozen=True)
class Diagnosis:
    """What is the matter, and what to do about it."""

    cause: str
    remedy: str


def role(process: Process) -> str:
    """Return what a process does in a run."""
    return next((what for mark, what in ROLES if mark in process.title), "another process")


def find(processes: Sequence[Process], judge: str = "") -> Diagnosis:
    """Return the first cause that the stacks show, in the order in which one brings about another.

    ``judge`` is what the gateway has said of questions that wait, since anything moved.
    """
    for finder in (_stopped, _own_code, _pipe, _collective, _data):
        if diagnosis := finder(processes):
            return diagnosis
    if judge:
        return Diagnosis(judge, "see that its server answers, or lower deadline in config/api_reward_config.yaml")
    return Diagnosis("the stacks show no known cause", "check them, and the end of train.log")


def where(processes: Sequence[Process]) -> list[str]:
    """Return in a few lines where the processes wait that are not idle, by what they do."""
    waits = Counter((role(process), str(frame)) for process in processes if (frame := _busy(process)) is not None)
    lines = [f"{what}{f' ({count} of them)' * (count > 1)}: {frame}" for (what, frame), count in waits.most_common()]
    known = [line for line in lines if not line.startswith("another process")]
    return (known or lines)[:MOST]


def _stopped(processes: Sequence[Process]) -> Diagnosis | None:
    stopped = [process for process in processes if process.is_stopped]
    if not stopped:
        return None
    named = ", ".join(f"{role(process)} ({process})" for process in stopped[:MOST])
    numbers: dict[str, list[str]] = {}
    for process in stopped:
        numbers.setdefault(process.node, []).append(str(process.pid))
    commands = ", ".join(f"kill -CONT {' '.join(pids)}" + f" on {node}" * bool(node) for node, pids in numbers.items())
    return Diagnosis(f"stopped by a signal or a debugger: {named}", f"resume them with {commands}, or start again")


def _own_code(processes: Sequence[Process]) -> Diagnosis | None:
    """Somebody's reward function, tool or environment, deep in which a thread is."""
    for process in processes:
        for frames in process.threads:
            frame_of_user = next((frame for frame in frames if _is_users(frame)), None)
            if frame_of_user is None:
                continue
            if role(process) == "reward worker":
                return Diagnosis(f"the reward function does not return: {frame_of_user}", "give it a time limit")
            if role(process) in ("tools", "environment"):
                flag = "--tool_timeout" if role(process) == "tools" else "--env_timeout"
                return Diagnosis(
                    f"{role(process)}: a call does not return: {frame_of_user}", f"lower {flag}, or fix the call"
                )
    return None


def _pipe(processes: Sequence[Process]) -> Diagnosis | None:
    """A process that can write no more until somebody reads."""
    full = next((process for process in processes if process.pipe), None)
    if full is None:
        return None
    return Diagnosis(
        f"{role(full)} ({full}) waits for room in a pipe, which is read by {full.pipe}",
        "have that one read on, or end it",
    )


def _collective(processes: Sequence[Process]) -> Diagnosis | None:
    """Ranks that wait for one another, and those that do something else."""
    ranks = [process for process in processes if role(process) == "rank of actor and critic" and process.threads]
    waiting = [rank for rank in ranks if _in_collective(rank)]
    if not waiting:
        return None
    behind = [rank for rank in ranks if rank not in waiting]
    call = next(frame for frames in waiting[0].threads for frame in frames if _is_collective(frame))
    if not behind:
        return Diagnosis(
            f"{len(waiting)} ranks wait for one another in {call.function}, all that were looked at",
            "check the network and the other machines; NCCL_DEBUG=INFO shows more",
        )
    busy = _busy(behind[0])
    doing = f", which is at {busy}" if busy else ", which is idle"
    return Diagnosis(
        f"{len(waiting)} of {len(ranks)} ranks wait in {call.function} for {behind[0]}{doing}",
        "it took a different code path, or is slow: see its stack",
    )


def _data(processes: Sequence[Process]) -> Diagnosis | None:
    drivers = [process for process in processes if role(process) == "driver"]
    if not any(_through(process, "torch/utils/data/dataloader.py") for process in drivers):
        return None
    # A data worker is a fork of the driver, and is called as it is.
    workers = [process for process in drivers if _through(process, "torch/utils/data/_utils/worker.py")]
    stuck = next(((worker, frame) for worker in workers if (frame := _busy(worker))), None)
    at = f": its data worker ({stuck[0]}) is at {stuck[1]}" if stuck else ""
    return Diagnosis(
        f"reading the next prompts does not return{at}", "check the disk of the data, and the stacks of its workers"
    )


def _through(process: Process, file: str) -> bool:
    """Whether a call in ``file``, the end of a path, is under way."""
    return any(frame.file.endswith(file) for frames in process.threads for frame in frames)


def _in_collective(process: Process) -> bool:
    return any(_is_collective(frame) for frames in process.threads for frame in frames)


def _is_collective(frame: Frame) -> bool:
    return frame.file.endswith(COLLECTIVES) and not frame.function.startswith("_")


def _busy(process: Process) -> Frame | None:
    """Return the innermost call of the first thread that is not idle."""
    return next((frames[0] for frames in process.threads if frames and not _is_idle(frames)), None)


def _is_idle(frames: Sequence[Frame]) -> bool:
    inner = frames[0]
    return any(inner.file.endswith(file) and inner.function.rpartition(".")[2] == function for file, function in IDLE)


def _is_users(frame: Frame) -> bool:
    path = frame.file
    return path.startswith("/") and not path.startswith((*PACKAGES, *KIT))

"""The cause of a failed run, from logs as Ray and vLLM write them."""

import pytest
from ray._private import ray_logging

from trainer.launch.root_cause import KEPT, describe, find_cause

RAY_OOM = """\
ray init kwargs: {'num_cpus': 16}
\x1b[36m(WorkerDict pid=71)\x1b[0m loading
Error executing job with overrides: []
Traceback (most recent call last):
  File "main_ppo.py", line 74, in run_ppo
    ray.get(runner.run.remote(config))
ray.exceptions.RayTaskError(RuntimeError): \x1b[36mray::TaskRunnerV1.run()\x1b[39m (pid=70, ip=127.0.0.1)
  File "trainer_base.py", line 300, in _setup
ray.exceptions.RayTaskError(RuntimeError): \x1b[36mray::WorkerDict.critic_reset()\x1b[39m (pid=71, ip=127.0.0.1)
  File "transformer_impl.py", line 200, in initialize
RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory
"""

VLLM = """\
\x1b[36m(vLLMHttpServer pid=9)\x1b[0m ERROR 11-21 10:38:53 [core.py:1] EngineCore failed to start.
\x1b[36m(vLLMHttpServer pid=9)\x1b[0m ERROR 11-21 10:38:53 [core.py:1] Traceback (most recent call last):
\x1b[36m(vLLMHttpServer pid=9)\x1b[0m ERROR 11-21 10:38:53 [core.py:1]   File "core.py", line 5, in run
\x1b[36m(vLLMHttpServer pid=9)\x1b[0m ERROR 11-21 10:38:53 [core.py:1] ValueError: Head size 16 is not supported
Error executing job with overrides: []
Traceback (most recent call last):
  File "main_ppo.py", line 74, in run_ppo
ray.exceptions.RayTaskError(RuntimeError): ray::TaskRunnerV1.run() (pid=70, ip=127.0.0.1)
  File "core_client.py", line 5, in wait
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""

# A worker of vLLM's names itself in its line, behind the process that Ray names.
VLLM_WORKER = """\
\x1b[36m(Server pid=9)\x1b[0m (Worker pid=11) ERROR 11-26 21:33:13 [a.py:8] Traceback (most recent call last):
\x1b[36m(Server pid=9)\x1b[0m (Worker pid=11) ERROR 11-26 21:33:13 [a.py:8]   File "sampler.py", line 54
\x1b[36m(Server pid=9)\x1b[0m (Worker pid=11) ERROR 11-26 21:33:13 [a.py:8] ModuleNotFoundError: No module named 'x'
\x1b[36m(Server pid=9)\x1b[0m (EngineCore pid=10) Traceback (most recent call last):
\x1b[36m(Server pid=9)\x1b[0m (EngineCore pid=10)     raise e from None
\x1b[36m(Server pid=9)\x1b[0m (EngineCore pid=10) Exception: WorkerProc initialization failed due to an exception \
in a background process. See stack trace for root cause.
\x1b[36m(Server pid=9)\x1b[0m Traceback (most recent call last):
\x1b[36m(Server pid=9)\x1b[0m RuntimeError: Engine core initialization failed. See root cause above.
"""

DEAD_ACTOR = """\
(AgentLoopWorkerTQ pid=6) Traceback (most recent call last):
(AgentLoopWorkerTQ pid=6)   File "agent_loop.py", line 5, in _compute_score
(AgentLoopWorkerTQ pid=6) ray.exceptions.ActorDiedError: The actor died of an error in its creation task, ray::W
(AgentLoopWorkerTQ pid=6)   File "reward.py", line 7, in load
(AgentLoopWorkerTQ pid=6) AttributeError: Object not found in module: no_such_function
Traceback (most recent call last):
  File "sampler.py", line 20, in _materialize_batch
RuntimeError: Every sample of the batch failed. See root cause above.
"""

FAILED_TO_START = """\
(RewardLoopWorker pid=7) Exception raised in creation task: The actor died of an error in its creation task, ray::W
(RewardLoopWorker pid=7)   File "reward.py", line 7, in load
(RewardLoopWorker pid=7) AttributeError: Object not found in module: no_such_function
(BatchWorker pid=6) Traceback (most recent call last):
(BatchWorker pid=6)   File "worker.py", line 211, in score
(BatchWorker pid=6) ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task
(BatchWorker pid=6) ERROR:2026-11-22 17:40:30,255:no score for uid=7668f04c
Traceback (most recent call last):
  File "sampler.py", line 20, in _materialize_batch
RuntimeError: Every sample of the batch failed. See root cause above.
"""

KILLED_ENGINE = """\
(vLLMHttpServer pid=9) ERROR 11-22 01:23:27 [async_llm.py:744] Traceback (most recent call last):
(vLLMHttpServer pid=9) ERROR 11-22 01:23:27 [async_llm.py:744]   File "async_llm.py", line 5, in output_handler
(vLLMHttpServer pid=9) ERROR 11-22 01:23:27 [async_llm.py:744] vllm.v1.engine.exceptions.EngineDeadError: EngineCore \
encountered an issue. See stack trace (above) for the root cause.
Traceback (most recent call last):
  File "replay_buffer.py", line 20, in _select
RuntimeError: Sync replay buffer selected terminal groups with no materializable trajectories. Enable trainer.v1.x
"""

KILLED_WORKER = """\
(AgentLoopWorkerTQ pid=6) Traceback (most recent call last):
(AgentLoopWorkerTQ pid=6)   File "agent_loop.py", line 5, in _compute_score
(AgentLoopWorkerTQ pid=6) ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
(AgentLoopWorkerTQ pid=6) \tclass_name: RewardLoopWorker
(AgentLoopWorkerTQ pid=6) \tactor_id: bc3bf79d
Traceback (most recent call last):
  File "replay_buffer.py", line 20, in _select
RuntimeError: Sync replay buffer selected terminal groups with no materializable trajectories. Enable trainer.v1.x
"""

RETRIED = """\
(W pid=1) Traceback (most recent call last):
(W pid=1)   File "a.py", line 1
(W pid=1) ConnectionError: will try again
step 1
Traceback (most recent call last):
  File "a.py", line 2
KeyError: 'data_source'
"""


@pytest.mark.parametrize(("log", "who"), [(KILLED_ENGINE, "vLLM's engine"), (KILLED_WORKER, "RewardLoopWorker")])
def test_a_process_that_was_killed_is_named(log, who) -> None:
    text = describe(log, 1, "/runs/a/train.log")
    line = f"the run failed: {who} died without an exception: it was killed, or the machine ran out of memory"
    assert text == f"{line}\nthe whole log: /runs/a/train.log"


def test_the_innermost_exception_through_ray() -> None:
    cause = find_cause(RAY_OOM)
    assert cause is not None
    assert cause.type == "RuntimeError"
    assert cause.text.startswith("[enforce fail at alloc_cpu.cpp:127]")


def test_the_root_cause_in_another_process() -> None:
    cause = find_cause(VLLM)
    assert cause is not None
    assert (cause.type, cause.text) == ("ValueError", "Head size 16 is not supported")
    assert cause.who == "vLLMHttpServer pid=9"


def test_the_root_cause_in_a_worker_of_vllm() -> None:
    cause = find_cause(VLLM_WORKER)
    assert cause is not None
    assert (cause.type, cause.text) == ("ModuleNotFoundError", "No module named 'x'")
    assert cause.who == "Worker pid=11"


def test_the_cause_behind_a_dead_actor() -> None:
    cause = find_cause(DEAD_ACTOR)
    assert cause is not None
    assert (cause.type, cause.text) == ("AttributeError", "Object not found in module: no_such_function")


def test_an_exception_that_was_survived_is_not_the_cause() -> None:
    cause = find_cause(RETRIED)
    assert cause is not None
    assert cause.type == "KeyError"


@pytest.mark.parametrize("kind", ["JudgeFailedError", "UnknownSource", "GraderFailed"])
def test_an_exception_of_any_name_is_known_by_its_module(kind) -> None:
    log = "(R pid=4) Traceback (most recent call last):\n(R pid=4)   File x\n"
    log += f"(R pid=4) reward.support.errors.{kind}: no rule\n"
    cause = find_cause(log + "Traceback (most recent call last):\n  File y\nRuntimeError: See root cause above.\n")
    assert cause is not None
    assert (cause.type, cause.text, cause.who) == (kind, "no rule", "R pid=4")
    assert find_cause(f"reward.support.errors.{kind}: mentioned\n") is None


def test_an_error_that_is_only_mentioned_is_no_exception() -> None:
    assert find_cause("ValueError: quoted in a response of the model\nstep 1\n") is None


def test_the_report_is_short_and_names_the_log() -> None:
    for log in (RAY_OOM, VLLM, "killed\n" * 400):
        report = describe(log, 1, "/x/train.log").splitlines()
        assert len(report) <= 15
        assert report[-1] == "the whole log: /x/train.log"


def test_a_process_that_fails_to_start_tells_the_cause() -> None:
    """Others have the news of it, less the lines that Ray has dropped because the first one has printed them."""
    cause = find_cause(FAILED_TO_START)
    assert cause is not None
    assert (cause.text, cause.who) == ("Object not found in module: no_such_function", "RewardLoopWorker pid=7")


@pytest.mark.parametrize(("kept", "text"), [(KEPT, "'data_source'"), (None, "will try again")])
def test_ray_drops_no_line_that_tells_the_cause(kept, text) -> None:
    """A second process that prints the lines of a first: without their header it has no exception."""
    dropped = ray_logging.LogDeduplicator(5, kept, None)
    log = [
        f"(W pid={batch['pid']}) {line}"
        for pid, error in enumerate(["ConnectionError: will try again", "KeyError: 'data_source'"])
        for batch in dropped.deduplicate(
            {"ip": "127.0.0.1", "pid": pid, "lines": ["Traceback (most recent call last):", '  File "a.py"', error]}
        )
        for line in batch["lines"]
    ]
    cause = find_cause("\n".join(log))
    assert cause is not None
    assert cause.text == text

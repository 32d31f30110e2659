"""What the kit makes known to verl in every process."""

import inspect
import tempfile
from pathlib import Path

import pytest
import torch
from verl.trainer.ppo.v1 import trainer_base
from verl.utils import seqlen_balancing
from verl.workers.rollout.vllm_rollout import bucketed_weight_transfer, vllm_rollout
from verl.workers.rollout.vllm_rollout import utils as vllm_utils

HANDLE = "ipc:///tmp/rl-colocate-zmq-01000000-replica-0-rank-0.sock"


def test_runs_on_one_machine_have_sockets_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sender = bucketed_weight_transfer.BucketedWeightSender(HANDLE, use_shm=True)
    receiver = bucketed_weight_transfer.BucketedWeightReceiver(HANDLE, torch.device("cpu"), use_shm=True)
    assert sender.zmq_handle == receiver.zmq_handle == HANDLE.replace("/tmp", str(tmp_path), 1)


@pytest.mark.parametrize("where", [vllm_rollout, vllm_utils])
def test_verl_still_names_them_by_the_job_alone(where: object) -> None:
    assert 'f"ipc:///tmp/rl-colocate-zmq-{job_id}-replica-' in inspect.getsource(where)  # type: ignore[arg-type]


def test_ranks_are_balanced_as_verl_does_by_numbers_instead_of_tensors() -> None:
    lengths = torch.randint(20, 800, (64,), generator=torch.Generator().manual_seed(1))
    ours, theirs = trainer_base.calculate_workload(lengths), seqlen_balancing.calculate_workload(lengths)
    assert ours == theirs.tolist()
    partitions = [
        seqlen_balancing.get_seqlen_balanced_partitions(work, k_partitions=4, equal_size=True)
        for work in (ours, theirs)
    ]
    assert partitions[0] == partitions[1]
    assert "workload_lst = calculate_workload(global_seqlen_lst)" in inspect.getsource(
        trainer_base.PPOTrainer._balance_batch
    )

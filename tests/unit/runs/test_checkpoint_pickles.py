"""A checkpoint of a stranger's: nothing in it runs, whoever loads it; one of this trainer's is loaded as ever."""

import json
import time
from pathlib import Path

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

from tests.attacks.checkpoint_pickles import ATTACKS
from trainer.runs.checkpoint_pickles import foreign, strict_loading

COMMANDS = (("export", "stranger"), ("eval", "stranger"), ("chat", "stranger"), ("--resume", "stranger", "--dry_run"))


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    """The folder of a step as verl leaves it, in a run of its own."""
    folder = tmp_path / "checkpoints" / "stranger" / "global_step_20"
    for part in ("actor", "critic"):
        (folder / part).mkdir(parents=True)
        for name in ("model", "optim", "extra_state"):
            torch.save({"weight": torch.ones(3)}, folder / part / f"{name}_world_size_1_rank_0.pt")
    torch.save({"_snapshot": {"_sampler_iter": torch.Generator().get_state()}}, folder / "data.pt")
    files = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*.pt")}
    (folder / "complete.json").write_text(json.dumps({"step": 20, "files": files}))
    run = tmp_path / "runs" / "stranger"
    run.mkdir(parents=True)
    (run / "settings.json").write_text(json.dumps({"given": {}, "overrides": []}))
    return folder


@pytest.mark.parametrize("name", ATTACKS)
def test_what_would_run_a_program_is_told_and_never_runs(checkpoint, tmp_path, name) -> None:
    mark, path = tmp_path / "ran", checkpoint / "critic" / "optim_world_size_1_rank_0.pt"
    ATTACKS[name](path, mark)
    assert str(path) in foreign(checkpoint)
    with strict_loading(), pytest.raises(Exception):  # noqa: B017  # whichever torch takes
        torch.load(path, weights_only=False)  # as verl loads it
    assert not mark.exists()


def test_what_this_trainer_saves_is_loaded(checkpoint, tmp_path) -> None:
    """Sharded tensors, an optimizer's state, numpy's random state."""
    import numpy as np

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/ranks", rank=0, world_size=1)
    try:
        shards = distribute_tensor(
            torch.arange(6.0), init_device_mesh("cpu", (1,), mesh_dim_names=("fsdp",)), [Shard(0)]
        )
        path = checkpoint / "actor" / "extra_state_world_size_1_rank_0.pt"
        torch.save({"weight": shards, "step": torch.tensor(3), "rng": np.random.get_state()}, path)
        assert foreign(checkpoint) == ""
        with strict_loading():
            found = torch.load(path, weights_only=False)
    finally:
        torch.distributed.destroy_process_group()
    assert found["weight"].to_local().tolist() == list(range(6))
    assert found["rng"][0] == "MT19937"


def test_a_link_out_of_the_checkpoint_is_told(checkpoint, tmp_path) -> None:
    (tmp_path / "own").write_text("mine")
    (checkpoint / "actor" / "tokenizer.json").symlink_to(tmp_path / "own")
    assert "out of the checkpoint" in foreign(checkpoint)


def test_as_a_person_meets_it(checkpoint, tmp_path, prefork) -> None:
    mark, path = tmp_path / "ran", checkpoint / "actor" / "model_world_size_1_rank_0.pt"
    ATTACKS["os.system"](path, mark)
    (checkpoint / "complete.json").write_text(json.dumps({"step": 20, "files": {}}))
    for words in COMMANDS:
        start = time.monotonic()
        result = prefork.train_sh(*words, OUTPUT_DIR=str(tmp_path))
        assert result.status == 2
        (line,) = (line for line in result.complaints if str(path) in line)
        assert "'posix.system'" in line
        assert "--trust_checkpoint" in line
        assert not mark.exists()
        assert time.monotonic() - start < 30
    trusted = prefork.train_sh("--resume", "stranger", "--dry_run", "--trust_checkpoint", OUTPUT_DIR=str(tmp_path))
    assert trusted.status == 0, trusted.err

"""The kit's trainer is known to verl, in any process and on any device."""

from tests.support.upstream import run


def test_verl_finds_it_by_name() -> None:
    code = """
import verl
from verl.trainer.ppo.v1 import get_trainer_cls
print(get_trainer_cls("ppo_kit").__module__)
"""
    done = run(code, platform="")
    assert done.stdout.strip().endswith("trainer.driver.ppo_trainer"), done.stderr


def test_verl_finds_the_policy_loss_by_name() -> None:
    code = """
from verl.trainer.ppo.core_algos import get_policy_loss_fn
print(get_policy_loss_fn("ppo_kit").__module__)
"""
    done = run(code, platform="")
    assert done.stdout.strip().endswith("trainer.algorithm.policy_loss"), done.stderr


def test_metrics_of_an_earlier_launch_are_kept(tmp_path) -> None:
    code = """
import verl
from verl.utils.tracking import Tracking
Tracking("p", "e", default_backend=["file"], config={}).log({"loss": 1.0}, step=1)
"""
    for _ in range(2):
        done = run(code, platform="", VERL_FILE_LOGGER_PATH=str(tmp_path / "metrics.jsonl"))
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step":1,"data":{"loss":1.0}}\n' * 2

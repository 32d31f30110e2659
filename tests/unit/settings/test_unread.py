"""Settings that nothing reads are known, by looking for their names in what a run imports of verl."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import verl
from omegaconf import DictConfig, OmegaConf

from trainer import ROOT
from trainer.settings.verl_schema import settings_tree
from trainer.settings.verl_schema.unread import is_unread, unread_line

# Of verl, what a run of this trainer does not import, and the dataclasses that name every setting.
OTHERS = (
    *(
        "trainer/ppo/ray_trainer.py",
        "trainer/sft",
        "trainer/main_",
        "trainer/config/",
        "workers/config/",
        "third_party",
    ),
    *("megatron", "sglang", "trtllm", "veomni", "automodel", "mindspeed", "torchtitan", "npu", "models/mcore", "nemo"),
    *("distillation", "separate_async", "colocate_async", "experimental/", "recipe"),
)
USED = ("experimental/agent_loop", "experimental/reward_loop")
# Handed on as they are, or of backends and modes that the kit does not have; refused or of no concern here.
SECTIONS = (
    *("distillation.", "transfer_queue.", "ray_kwargs.", "trainer.v1.", "global_profiler", "custom_reward_function"),
    *("reward_model.", "sandbox_fusion", "reward.reward_model.rollout."),
)
PARTS = ("profiler", ".mtp.", "turbo_config", ".disaggregation.", "qat.", "_target_")
READ_ELSEWHERE = (  # by dataclasses, and by transformers
    *("optim.warmup_style", "trainer.use_v1", "agent.agent_loop_manager_class"),
    "override_config.initializer_range",
)


@pytest.fixture(scope="module")
def words() -> set[str]:
    root = Path(verl.__file__).parent
    files = [*(ROOT / "trainer").rglob("*.py"), *(ROOT / "reward").rglob("*.py")]
    files = [path for path in files if path.name != "unread.py"]
    for path in root.rglob("*.py"):
        name = str(path.relative_to(root))
        if name.startswith(USED) or not any(other in name for other in OTHERS):
            files.append(path)
    return set().union(*(re.findall(r"\w+", path.read_text(encoding="utf-8")) for path in files))


def leaves(config: DictConfig, before: str = "") -> Iterator[str]:
    for name in config:
        value = config._get_node(name)
        if isinstance(value, DictConfig):
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def test_every_setting_that_nothing_reads_is_known(words: set[str]) -> None:
    config = settings_tree.compose_files("cpu", "rule", ())
    assert isinstance(config, DictConfig) and OmegaConf.is_config(config)
    found = [
        key
        for key in leaves(config)
        if not key.startswith(SECTIONS)
        and not any(part in key for part in PARTS)
        and not key.endswith(READ_ELSEWHERE)
        and key.rpartition(".")[2] not in words
    ]
    assert len(found) > 5
    assert [key for key in found if not is_unread(key)] == []


def test_they_are_told_in_a_line() -> None:
    line = unread_line(
        ["algorithm.use_pf_ppo=True", "+actor_rollout_ref.nccl_timeout=5", "actor_rollout_ref.actor.optim.lr=1"]
    )
    assert line.endswith(": algorithm.use_pf_ppo, actor_rollout_ref.nccl_timeout")
    assert unread_line(["algorithm.pf_ppo.weight_pow=2", "critic.model.lora.dropout_position=pre"]).count(",") == 1
    assert unread_line(["algorithm.gamma=1.0"]) == "" == unread_line([])

"""From a real run to its rehearsal, and the record that ``./train.sh check`` names."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from trainer.commands import rehearse
from trainer.commands.rehearsal import record, run_settings, training
from trainer.commands.rehearsal.stages import FAULT, NOT, OK, Rehearsal, StageFailed
from trainer.launch import processes
from trainer.settings.settings import Settings, read_settings

GPUS = {"DEVICE": "cuda", "N_GPUS": "8", "DRY_RUN": "true"}


def settings_of(model: Path, output: Path, *words: str, **environ: str) -> Settings:
    return read_settings({"MODEL_PATH": str(model), "OUTPUT_DIR": str(output), **environ}, words, gpus=0)


def rehearsed(settings: Settings, reward_model: Path | None = None) -> Settings:
    """The settings that the launcher of the rehearsal reads."""
    made = run_settings.Miniatures(Path("policy"), Path("train"), Path("val"), reward_model, Path("critic"))
    environ = run_settings.environment(settings, made, Path("out"), "rehearsal")
    return read_settings(environ, run_settings.overrides(settings, made), gpus=0)


def test_the_flags_of_the_real_run_are_those_of_its_rehearsal_but_for_sizes_and_devices(tmp_path) -> None:
    given = {"LORA_RANK": "32", "ADV_ESTIMATOR": "grpo", "ROLLOUT_N": "8", "OFFLOAD": "actor,critic", "LR": "3e-6"}
    sizes = {"NNODES": "4", "MASTER_ADDR": "head", "ROLLOUT_TP_SIZE": "4", "MAX_PROMPT_LENGTH": "2048"}
    words = ("actor_rollout_ref.rollout.top_p=0.9", "actor_rollout_ref.rollout.enforce_eager=false")
    real = settings_of(tmp_path, tmp_path, *words, "critic.model.path=/real/critic", **GPUS, **given, **sizes)
    here = rehearsed(real)
    for env in (*given.keys() - {"ROLLOUT_N"}, "MAX_PROMPT_LENGTH", "KL_COEF", "CLIP_RATIO"):
        assert here.values[env] == real.values[env], env
    assert here.overrides == ("actor_rollout_ref.rollout.top_p=0.9", "critic.model.path=critic")
    assert {env: here.values[env] for env in ("N_GPUS", "NNODES", "ROLLOUT_TP_SIZE", "ROLLOUT_N", "BATCH_SIZE")} == {
        **{"N_GPUS": 1, "NNODES": 2, "ROLLOUT_TP_SIZE": 1, "ROLLOUT_N": 2},
        "BATCH_SIZE": 8,
    }
    assert here.text("DEVICE") == "cpu"
    assert not here.dry_run
    cuts = list(run_settings.cuts(real))
    assert cuts[0] == "ranks 4 x 8 cuda -> 2 x 1 cpu"
    assert "tensor parallel 4 -> 1" in cuts
    assert cuts[-1] == "without actor_rollout_ref.rollout.enforce_eager=false"


def test_defaults_of_the_built_in_model_go_along() -> None:
    real = read_settings({}, [], gpus=0)
    assert real.text("MODEL_PATH") == "builtin:tiny"
    here = rehearsed(real)
    for env in ("LR", "CRITIC_LR", "PPO_EPOCHS", "MAX_PROMPT_LENGTH"):
        assert here.values[env] == real.values[env], env


def test_defaults_of_the_built_in_chat_model_go_along() -> None:
    real = read_settings({"MODEL_PATH": "builtin:smollm2"}, [], gpus=0)
    here = rehearsed(real)
    for env in ("LR", "CRITIC_LR", "KL_COEF", "ROLLOUT_TEMPERATURE", "OLD_LOG_PROBS"):
        assert here.values[env] == real.values[env], env
    assert (real.values["CRITIC_LAYERS"], here.values["CRITIC_LAYERS"]) == (8, 1)
    assert "layers of the critic 8 -> 1" in list(run_settings.cuts(real))


def test_a_judge_is_asked_a_few_questions(tmp_path) -> None:
    real = settings_of(tmp_path, tmp_path, USE_API_REWARD="true", ROLLOUT_N="8", BATCH_SIZE="1024", **GPUS)
    here = rehearsed(real)
    answers = here.integer("BATCH_SIZE") * here.integer("ROLLOUT_N") * run_settings.STEPS
    assert answers + run_settings.JUDGED_HELD_OUT_ROWS * (run_settings.STEPS + 1) <= 32


def test_episodes_and_conversations_are_few_and_short(tmp_path) -> None:
    played = rehearsed(settings_of(tmp_path, tmp_path, ENV_NAME="frozenlake", MAX_RESPONSE_LENGTH="2000", **GPUS))
    assert played.text("DATA") == "env:frozenlake" and played.text("VAL_DATA") == ""
    assert played.integer("ENV_EPISODES") == 24
    assert played.integer("MAX_RESPONSE_LENGTH") == run_settings.CONVERSATION_TOKENS
    long = {"MAX_RESPONSE_LENGTH": "2000", "MAX_TURN_TOKENS": "1000"}
    played = rehearsed(settings_of(tmp_path, tmp_path, ENV_NAME="frozenlake", **long, **GPUS))
    assert played.integer("MAX_TURN_TOKENS") == run_settings.CONVERSATION_TOKENS // 2
    called = rehearsed(settings_of(tmp_path, tmp_path, TOOLS="calculator", MAX_TURNS="2", **GPUS))
    assert (called.text("TOOLS"), called.integer("MAX_TURNS"), called.text("DATA")) == ("calculator", 2, "train")


def test_a_reward_model_that_a_server_holds_stays_the_real_one(tmp_path) -> None:
    real = settings_of(tmp_path, tmp_path, REWARD_MODEL_PATH="a/b", RM_URL="http://127.0.0.1:1", **GPUS)
    assert rehearsed(real).text("REWARD_MODEL_PATH") == "a/b"
    real = settings_of(tmp_path, tmp_path, REWARD_MODEL_PATH="a/b", RM_GPUS="2", **GPUS)
    here = rehearsed(real, Path("small"))
    assert (here.text("REWARD_MODEL_PATH"), here.integer("RM_GPUS")) == ("small", 1)


def test_the_hash_is_that_of_the_configuration_not_of_the_launch(small_model, tmp_path) -> None:
    def key(**environ: str) -> str:
        return record.fingerprint(settings_of(small_model, tmp_path / "out", **{"MAX_PROMPT_LENGTH": "64", **environ}))

    first = key()
    assert key(RUN_NAME="another", DRY_RUN="true", MASTER_PORT="3000") == first
    time.sleep(1.1)  # a name that is made has the second in it
    assert key() == first
    changed = [key(LR="2e-6"), key(MAX_PROMPT_LENGTH="65"), key(SEED="2"), key(LORA_RANK="8")]
    assert len({first, *changed}) == 5


def test_a_changed_reward_function_is_another_configuration(small_model, tmp_path) -> None:
    code = tmp_path / "reward.py"
    code.write_text("def score(data_source, solution_str, ground_truth, extra_info=None):\n    return 1.0\n")
    settings = settings_of(small_model, tmp_path / "out", REWARD_FN=str(code))
    before = record.fingerprint(settings)
    code.write_text(code.read_text().replace("1.0", "0.0"))
    assert record.fingerprint(settings) != before


def test_check_names_what_was_rehearsed_of_this_very_configuration(small_model, tmp_path) -> None:
    settings = settings_of(small_model, tmp_path / "out", MAX_PROMPT_LENGTH="64", MAX_RESPONSE_LENGTH="64", **GPUS)
    assert record.line(settings).startswith("not rehearsed with this configuration (")
    rehearsal = Rehearsal()
    rehearsal.add("policy", OK, "", 2.0)
    with pytest.raises(StageFailed), rehearsal.stage("eval"):
        raise StageFailed("no answers")
    rehearsal.skip(["policy", "export"], "an earlier stage failed")
    assert [(stage.name, stage.state) for stage in rehearsal.stages] == [
        ("policy", OK),
        ("eval", FAULT),
        ("export", NOT),
    ]
    folder = record.folder(settings.output) / record.fingerprint(settings)[: record.LENGTH]
    folder.mkdir(parents=True)
    record.write(folder / record.FILE, rehearsal.stages, 3.0)
    line = record.line(settings)
    assert line.endswith(f"({folder.name}): ok policy; FAULT in eval; not export")
    assert record.line(settings_of(small_model, tmp_path / "out", **GPUS, LR="1e-3")).startswith("not rehearsed")
    facts = json.loads((folder / record.FILE).read_text())
    assert facts["stages"][1] == {"name": "eval", "state": "fault", "text": "no answers", "seconds": 0.0}
    (folder / record.FILE).write_text("{}")
    assert "cannot be read" in record.line(settings)


@pytest.mark.parametrize(("ends", "fault"), [(("true", "sleep 0.7"), ""), (("sleep 0.7", "exit 3"), "it said nothing")])
def test_a_node_may_end_before_the_other_but_not_with_an_error(tmp_path, ends, fault) -> None:
    run = training.Training({"NNODES": "2"}, [], tmp_path / "run", tmp_path)
    run.launchers = [subprocess.Popen(["sh", "-c", words]) for words in ends]
    for rank in (0, 1):
        run.log(rank).touch()
    if fault:
        with pytest.raises(StageFailed, match=fault):
            run.end()
    else:
        run.end()
        assert [launcher.returncode for launcher in run.launchers] == [0, 0]
    for launcher in run.launchers:
        launcher.wait()


def test_the_first_complaint_is_the_fault() -> None:
    log = "[   1 s] Ray is up\ntrain.sh: the run failed: no space\ntrain.sh: its log: x\n"
    assert training.cause_of(log) == "the run failed: no space (and 1 more faults)"
    assert training.cause_of("Traceback\nValueError: no\n\n") == "ValueError: no"
    assert training.cause_of("") == "it said nothing"


def test_an_interrupted_rehearsal_has_a_record(tmp_path, small_model, monkeypatch) -> None:
    def interrupted(settings, real, folder, rehearsal, traces) -> None:
        rehearsal.add("policy", OK)
        with rehearsal.stage("start"):
            raise KeyboardInterrupt

    monkeypatch.setattr(rehearse, "rehearse", interrupted)
    monkeypatch.setattr(processes, "end_all", lambda traces: None)
    settings = settings_of(small_model, tmp_path / "out", MAX_PROMPT_LENGTH="64", MAX_RESPONSE_LENGTH="64", **GPUS)
    with pytest.raises(KeyboardInterrupt):
        rehearse.run(settings, [])
    assert "ok policy; interrupted in start, with nothing after it" in record.line(settings)

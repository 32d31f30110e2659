"""``./train.sh rehearse`` without the stack: what is refused before anything starts, and miniatures in transformers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import hub_server, policies, reward_models
from tests.support.command import clean_environment
from trainer.commands.rehearsal import inputs, load_back, miniature
from trainer.commands.rehearsal.miniature import ModelSource
from trainer.settings.settings import read_settings

SMALL = {"vocab_size": 512}  # real vocabularies take most of a second each


@pytest.mark.parametrize("kind", policies.CONFIGS)
def test_miniatures_are_written_updated_and_loaded_back(tmp_path, kind) -> None:
    """Of the architectures that people train, from configuration and tokenizer alone."""
    source = ModelSource(str(policies.write(tmp_path / "real", kind, **SMALL)), "model")
    architecture = miniature.read(source)
    assert architecture.name == policies.CONFIGS[kind]["architectures"][0]
    miniature.write(source, tmp_path / "small", seed=1)
    config = json.loads((tmp_path / "small" / "config.json").read_text())
    assert (config["model_type"], config["num_hidden_layers"], config["vocab_size"]) == (kind, 2, 512)
    said = load_back.main(tmp_path / "small", tmp_path / "saved")
    assert said.startswith(architecture.name)


@pytest.mark.parametrize("make", [reward_models.skywork_qwen3, reward_models.deberta])
def test_a_reward_model_in_miniature_is_of_the_same_class(tmp_path, make) -> None:
    source = ModelSource(str(make(tmp_path / "real")), "reward_model", scores=True)
    (tmp_path / "real" / "model.safetensors").unlink()
    name = miniature.read(source).name
    miniature.write(source, tmp_path / "small", seed=1)
    config = json.loads((tmp_path / "small" / "config.json").read_text())
    assert config["architectures"] == [name]


def test_the_stand_in_has_the_tokenizer_and_the_vocabulary(tmp_path) -> None:
    real = policies.write(tmp_path / "real", "gemma2", **SMALL)
    miniature.write(ModelSource(str(real), "model", stand_in=True), tmp_path / "small", seed=1)
    config = json.loads((tmp_path / "small" / "config.json").read_text())
    assert (config["architectures"], config["vocab_size"]) == (["LlamaForCausalLM"], 512)
    assert load_back.main(tmp_path / "small", None).startswith("LlamaForCausalLM")


def test_a_reward_model_with_a_head_of_its_own_has_a_stand_in(tmp_path, small_model) -> None:
    """ArmoRM has 19 objectives and a gate, in classes that transformers does not have."""
    real = reward_models.armorm(tmp_path / "armorm")
    environ = {"MODEL_PATH": str(small_model), "REWARD_MODEL_PATH": str(real), "OUTPUT_DIR": str(tmp_path / "out")}
    made = inputs.read(read_settings(environ, [], gpus=0), print)
    assert made.reward_model is not None
    assert made.reward_model.stand_in
    miniature.write(made.reward_model, tmp_path / "small", seed=1)
    config = json.loads((tmp_path / "small" / "config.json").read_text())
    assert (config["architectures"], len(config["id2label"])) == (["LlamaForSequenceClassification"], 1)


def test_of_a_model_of_the_hub_no_weights_are_asked_for(tmp_path) -> None:
    """They are listed there; config.json and tokenizer are all that a miniature is made of."""
    policies.write(tmp_path / "hub" / "meta" / "llama", "llama", **SMALL)
    source, job = ModelSource("meta/llama", "model"), tmp_path / "job.json"
    miniature.dump_job(source, tmp_path / "small", 1, job)
    with hub_server.serving(tmp_path / "hub") as hub:
        environ = clean_environment(HF_HOME=str(tmp_path / "cache"), **hub.environment)
        command = [sys.executable, "-m", "trainer.commands.rehearsal.miniature", str(job)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    fetched = {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}
    assert {"config.json", "tokenizer.json", "chat_template.jinja"} <= fetched
    assert not fetched & set(hub_server.WEIGHTS)
    assert load_back.main(tmp_path / "small", None).startswith("LlamaForCausalLM")


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def unknown_architecture(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen99", "architectures": ["Qwen99ForCausalLM"]}))


def no_template(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()


def heads_that_do_not_divide(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_key_value_heads": 3}))


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (broken_config, "config.json cannot be read"),
        (unknown_architecture, "its architecture is unknown to the transformers that is installed"),
        (no_template, "its tokenizer has no chat template"),
        (heads_that_do_not_divide, "which 3 num_key_value_heads do not divide"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_before_anything_starts(tmp_path, spoil, line, prefork) -> None:
    folder = policies.write(tmp_path / "model", "qwen2", **SMALL)
    spoil(folder)
    flags = ("--model", str(folder), "--device", "cuda", "--n_gpus", "8")
    result = prefork.train_sh("rehearse", *flags, OUTPUT_DIR=str(tmp_path / "out"))
    assert result.status == 2
    assert len(result.complaints) == 1, result.err
    assert line in result.complaints[0]
    assert str(folder) in result.complaints[0]
    assert not (tmp_path / "out" / "rehearsals").exists()
    assert result.out == ""


def test_words_and_faults_of_flags_and_data_are_refused_at_once(tmp_path, prefork) -> None:
    assert "leave out answers" in prefork.train_sh("rehearse", "answers").err
    folder = policies.write(tmp_path / "model", "qwen2", **SMALL)
    no_template(folder)
    (tmp_path / "data.jsonl").write_text('{"prompt": 1}\n')
    result = prefork.train_sh("rehearse", "--model", str(folder), "--data", str(tmp_path / "data.jsonl"))
    assert result.status == 2
    assert any("no chat template" in line for line in result.complaints)
    assert any("data.jsonl" in line for line in result.complaints)

"""``--critic_layers``: what verl and transformers get, and a model that has fewer."""

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForTokenClassification
from verl.utils.model import update_model_config  # with the kit's patch, which verl loads as a plugin

from tests.support.composing import resolved
from trainer.composition import critic_layers
from trainer.settings.settings import read_settings


def test_verl_gets_it_for_the_critic_alone(small_model) -> None:
    config = resolved(small_model, 0, CRITIC_LAYERS="1")
    assert config.critic.model.override_config.num_hidden_layers == 1
    assert "num_hidden_layers" not in config.actor_rollout_ref.model.override_config
    assert "num_hidden_layers" not in resolved(small_model, 0).critic.model.override_config


@pytest.mark.parametrize("own", [{"num_hidden_layers": 3}, {"text_config": {"num_hidden_layers": 3}}])
def test_more_layers_than_there_are(own) -> None:
    faults = [list(critic_layers.faults(read_settings({"CRITIC_LAYERS": text}, (), 0), own)) for text in ("3", "4")]
    assert faults[0] == []
    assert faults[1] == ["--critic_layers 4: the model has 3 layers; give at most 3, or leave it out for all"]


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "gemma2", "mistral", "phi3"])
def test_transformers_loads_the_first_layers(kind: str, tmp_path: Path) -> None:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = AutoConfig.for_model(kind, vocab_size=100, num_hidden_layers=4, head_dim=8, pad_token_id=0, **sizes)
    whole = AutoModelForCausalLM.from_config(config)
    whole.save_pretrained(tmp_path / "whole")
    fewer = AutoConfig.from_pretrained(tmp_path / "whole")
    update_model_config(fewer, {"num_hidden_layers": 2, "num_labels": 1})
    critic = AutoModelForTokenClassification.from_pretrained(tmp_path / "whole", config=fewer)
    assert len(critic.model.layers) == 2
    for layer, source in zip(critic.model.layers, whole.model.layers, strict=False):
        assert all(map(torch.equal, layer.state_dict().values(), source.state_dict().values()))
    fewer.save_pretrained(tmp_path / "critic")  # as verl does beside a checkpoint

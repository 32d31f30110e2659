"""A critic of fewer layers than its model: transformers wants the list of their kinds to be as long."""

from types import ModuleType
from typing import Any

LISTS = ("layer_types", "mlp_layer_types")  # of Qwen, Gemma, ...: a kind of attention a layer


def cut(config: Any) -> None:
    """Shorten the lists of a Hugging Face configuration to its ``num_hidden_layers``."""
    layers = getattr(config, "num_hidden_layers", None)
    for name in LISTS:
        kinds = getattr(config, name, None)
        if kinds is not None and layers is not None and len(kinds) > layers:
            setattr(config, name, list(kinds[:layers]))


def patch(module: ModuleType) -> None:
    """verl/utils/model.py, ``setattr(module_config, key, val)``: it sets ``num_hidden_layers`` and no more."""
    original = module.update_model_config

    def update_model_config(module_config: Any, override_config_kwargs: Any) -> None:
        original(module_config, override_config_kwargs)
        if "num_hidden_layers" in override_config_kwargs:
            cut(module_config)

    module.update_model_config = update_model_config  # type: ignore[attr-defined]

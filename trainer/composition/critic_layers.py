"""``--critic_layers``: a critic of the policy's first layers, which computes and remembers less."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainer.settings.settings import Settings

KEY = "critic.model.override_config.num_hidden_layers"


def overrides(settings: Settings) -> tuple[str, ...]:
    """Return what Hydra is told: transformers then builds so many layers, and loads the weights of these alone."""
    layers = settings.integer_or_none("CRITIC_LAYERS")
    return () if layers is None else (f"+{KEY}={layers}",)


def faults(settings: Settings, model: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong beside the ``config.json`` of a model; layers that it lacks would start from noise."""
    own, layers = model.get("text_config", model).get("num_hidden_layers"), settings.integer_or_none("CRITIC_LAYERS")
    if isinstance(own, int) and layers is not None and layers > own:
        yield f"--critic_layers {layers}: the model has {own} layers; give at most {own}, or leave it out for all"

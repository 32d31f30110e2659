"""A model's configuration cut to two layers and a few heads; all that shapes its code paths stays as it is.

Kept: vocabulary, size and kind of attention heads, whether heads share keys, biases, norms, activation, rotary
embeddings, sliding windows, caps of logits, tied embeddings. Cut: layers, heads, width, experts, and every list that
has an entry a layer.
"""

import copy
from collections.abc import Mapping
from typing import Any

LAYERS = 2  # more where the model has more kinds of layers than that
MOST_LAYERS = 6
HIDDEN, INTERMEDIATE = 256, 512  # about; a multiple of the head size where the model computes one from the other
EXPERTS, EXPERT_WIDTH = 4, 128
LAYER_KINDS = ("layer_types", "layers_block_type", "no_rope_layers", "sliding_window_pattern_per_layer")
# What counts experts, and what is chosen of them, by the names of transformers' configurations.
EXPERT_COUNTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
EXPERT_CHOICES = ("num_experts_per_tok", "moe_k", "moe_topk")
EXPERT_WIDTHS = ("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_hidden_size")
SINGLE = {"n_group": 1, "topk_group": 1, "n_shared_experts": 1, "first_k_dense_replace": 1}


class CutError(ValueError):
    """A configuration that cannot be cut; the message says what it lacks."""


def cut(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of the miniature.

    Args:
        config: as transformers writes it, with its standard names (``num_hidden_layers``, ``hidden_size``, ...).

    Raises:
        CutError: a size is missing or fits no model.
    """
    layers, heads, hidden = (
        _size(config, name) for name in ("num_hidden_layers", "num_attention_heads", "hidden_size")
    )
    small = copy.deepcopy(dict(config))
    kept = kept_layers(config, layers)
    for name, value in config.items():
        if isinstance(value, list) and len(value) == layers and layers > len(kept):
            small[name] = [value[layer] for layer in kept]
    small["num_hidden_layers"] = len(kept)
    if isinstance(config.get("max_window_layers"), int):  # Qwen: layers from there on have a sliding window
        small["max_window_layers"] = min(config["max_window_layers"], len(kept))
    return small | _heads(config, heads, hidden) | _width(config) | _experts(config)


def kept_layers(config: Mapping[str, Any], layers: int) -> list[int]:
    """Return the indices of the layers that stay: the first of each kind, and ``LAYERS`` at least."""
    kinds = [config[name] for name in LAYER_KINDS if isinstance(config.get(name), list)]
    lists = [kind for kind in kinds if len(kind) == layers]
    first: dict[tuple[str, ...], int] = {}
    for layer in range(layers):
        first.setdefault(tuple(str(kind[layer]) for kind in lists), layer)
    kept = set(list(first.values())[:MOST_LAYERS])
    for layer in range(layers):
        if len(kept) < LAYERS:
            kept.add(layer)
    return sorted(kept)


def _heads(config: Mapping[str, Any], heads: int, hidden: int) -> dict[str, Any]:
    """Return heads and width: heads of the model's own size, shared as the model shares them."""
    shared = config.get("num_key_value_heads") or heads
    if not isinstance(shared, int) or heads % shared:
        raise CutError(f"num_attention_heads is {heads}, which {shared} num_key_value_heads do not divide")
    head_dim = config.get("head_dim") or 0
    if not head_dim and hidden % heads:
        raise CutError(f"hidden_size is {hidden}, which {heads} num_attention_heads do not divide")
    size = int(head_dim or hidden // heads)
    count = min(heads, max(2, HIDDEN // size))
    count -= count % 2 if count > 1 else 0  # two query heads a key head, where the model shares
    is_free = (
        bool(head_dim) and head_dim * heads != hidden
    )  # the width of Gemma and of some Qwen 3 is no product of heads
    width = min(hidden, HIDDEN) if is_free else count * size
    cut_heads = {"num_attention_heads": count, "hidden_size": width}
    if config.get("num_key_value_heads") is not None:
        cut_heads["num_key_value_heads"] = count if shared == heads else max(1, count // 2)
    return cut_heads


def _width(config: Mapping[str, Any]) -> dict[str, Any]:
    width = config.get("intermediate_size")
    return {"intermediate_size": min(width, INTERMEDIATE)} if isinstance(width, int) else {}


def _experts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts and widths of experts, of a model that has some."""
    small: dict[str, Any] = {}
    for names, most in ((EXPERT_COUNTS, EXPERTS), (EXPERT_CHOICES, 2), (EXPERT_WIDTHS, EXPERT_WIDTH)):
        small |= {name: min(config[name], most) for name in names if _is_count(config.get(name))}
    if any(name in small for name in EXPERT_COUNTS):
        small |= {name: min(config[name], most) for name, most in SINGLE.items() if _is_count(config.get(name))}
    return small


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _size(config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not _is_count(value):
        raise CutError(f"it has no {name}")
    assert isinstance(value, int)
    return value

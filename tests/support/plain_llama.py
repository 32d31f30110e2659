"""Llama's forward pass in a page, from its papers, with nothing of transformers: what scores are compared with."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor


def states(weights: Mapping[str, Tensor], ids: list[int], heads: int = 2, kv_heads: int = 1, theta: float = 10_000.0,
           attend: list[bool] | None = None) -> Tensor:  # fmt: skip
    """Return the normed states, (T, hidden), of one sequence; nothing attends to tokens that ``attend`` leaves out."""
    x = weights["embed_tokens.weight"][ids]
    length, hidden = x.shape
    size = hidden // heads
    angles = torch.arange(length)[:, None] * theta ** (-torch.arange(0, size, 2) / size)
    turn = torch.polar(torch.ones_like(angles), angles.float())[:, None]  # one complex number a pair of dimensions
    seen = torch.ones(length, length).tril().bool()
    if attend is not None:
        seen &= torch.tensor(attend)
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))

    def norm(value: Tensor, name: str) -> Tensor:
        return value / (value.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * weights[name]

    def rotated(value: Tensor) -> Tensor:  # dimensions i and i + size / 2 are a pair
        a, b = value.chunk(2, dim=-1)
        product = torch.complex(a.contiguous(), b.contiguous()) * turn
        return torch.cat([product.real, product.imag], dim=-1)

    for i in range(layers):
        at = f"layers.{i}."
        y = norm(x, at + "input_layernorm.weight")
        q, k, v = (
            (y @ weights[f"{at}self_attn.{n}_proj.weight"].T).view(length, count, size)
            for n, count in (("q", heads), ("k", kv_heads), ("v", kv_heads))
        )
        q, k = rotated(q), rotated(k)
        k, v = (each.repeat_interleave(heads // kv_heads, dim=1) for each in (k, v))
        logits = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(size)
        mixed = torch.einsum("hqk,khd->qhd", logits.masked_fill(~seen, -torch.inf).softmax(-1), v)
        x = x + mixed.reshape(length, hidden) @ weights[at + "self_attn.o_proj.weight"].T
        y = norm(x, at + "post_attention_layernorm.weight")
        gate, up = (y @ weights[f"{at}mlp.{n}_proj.weight"].T for n in ("gate", "up"))
        x = x + (torch.nn.functional.silu(gate) * up) @ weights[at + "mlp.down_proj.weight"].T
    return norm(x, "norm.weight")


def part(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the weights below ``prefix``, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}

"""Passes with no padding where flash-attn is not, in which the tokens that all sequences begin with are computed once.

A packed batch is one row: the prefix that its sequences have in common (a chat template, a system prompt), once, then
the suffix of each::

    sequences   P P P a a        row        P P P a a b b b b c c c
                P P P b b b b    suffixes   a a . .     scatter_index: where suffix tokens are in the
                P P P c c c                 b b b b     padded batch of suffixes, 0 1 4 5 6 7 8 9 10
                                            c c c .

Linear layers, norms and the head see no padding, and the prefix once. Attention takes the row apart again: a suffix
attends to the prefix and to itself. The numbers are those of the padded batch, the gradients too: those of the prefix
come together from all sequences. Where torch's flash kernels fit (``varlen_attention.py``), no prefix is shared, and
the row is not taken apart.

transformers passes ``kit_packing`` through to the attention (docs/source/en/attention_interface.md).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from trainer.workers.engine import varlen_attention

NAME = "kit_packed"  # of the attention, in a model's configuration
# Their tokens see each other in full causal attention and nowhere else: test_prefix_packing.py tests each.
MODELS = (
    *("gemma", "granite", "llama", "mistral", "mixtral", "olmo2", "phi3"),
    *("qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "smollm3"),
)


@dataclass(frozen=True)
class Packing:
    """A batch of B sequences in one row of T tokens.

    ``tokens``, (T,), says where the row's tokens are in the batch of whole sequences, one after another. ``shape`` is B
    and the longest suffix, S: a padded batch of suffixes. ``scatter_index``, (T - prefix_len,), is where suffix tokens
    are in that; None where they fill it. ``mask``, (S, prefix_len + S), is true where a suffix token attends; None
    without a prefix. ``offsets``, (B + 1,), say where sequences begin in the row, for kernels that read it as it is;
    else None.
    """

    tokens: torch.Tensor
    prefix_len: int
    shape: tuple[int, int]
    scatter_index: torch.Tensor | None
    mask: torch.Tensor | None
    offsets: torch.Tensor | None = None

    def row_positions(self, positions: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return where tokens of the batch are in the row: ``positions``, ``lengths`` of them of each sequence."""
        before = torch.arange(len(lengths), device=positions.device) * self.prefix_len
        return positions - before.repeat_interleave(lengths)


def pack(input_ids: torch.Tensor, prompts: torch.Tensor, as_it_is: bool = False) -> Packing:
    """Return how to pack nested ``input_ids``, (B, p + r), which begin with ``prompts``, (B, p).

    ``as_it_is``: for kernels that read the row, so no prefix is shared.
    """
    tokens, starts, device = input_ids.values(), input_ids.offsets()[:-1], input_ids.device
    # The last token of a prompt stays its own: what it says is read.
    shortest = int(prompts.offsets().diff().min()) if len(starts) > 1 and not as_it_is else 0
    columns = torch.arange(max(shortest - 1, 0), device=device)
    begin = tokens[starts.unsqueeze(1) + columns]
    prefix_len = int((begin == begin[:1]).all(0).cumprod(0).sum())
    suffix_lens = input_ids.offsets().diff() - prefix_len
    longest = int(suffix_lens.max())
    columns = torch.arange(longest, device=device)
    is_suffix = columns < suffix_lens.unsqueeze(1)
    full = bool(is_suffix.all())
    suffix_index = (starts.unsqueeze(1) + prefix_len + columns)[is_suffix]
    whole = torch.ones(longest, prefix_len + longest, dtype=torch.bool, device=device)
    mask = whole.tril(prefix_len) if prefix_len else None
    return Packing(
        torch.cat([torch.arange(prefix_len, device=device), suffix_index]),
        prefix_len,
        (len(starts), longest),
        None if full else is_suffix.flatten().nonzero().squeeze(1),
        mask,
        input_ids.offsets().to(torch.int32) if as_it_is else None,
    )


def enable_prefix_packing(model: Any) -> bool:
    """Have a model of ``MODELS`` with SDPA take packed batches; return whether it does from now on."""
    if not type(model).__module__.startswith("transformers.models."):  # code of its own, whatever it is called
        return False
    config = model.config
    layers = getattr(config, "layer_types", None)
    full = set(layers) == {"full_attention"} if layers else getattr(config, "sliding_window", None) is None
    if config.model_type not in MODELS or not full or config._attn_implementation != "sdpa":
        return False
    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return True


def inputs(packing: Packing, batch: Any) -> dict[str, Any]:
    """Return what a model is called with."""
    return {
        "input_ids": batch["input_ids"].values()[packing.tokens].unsqueeze(0),
        "position_ids": batch["position_ids"].values()[packing.tokens].unsqueeze(0),
        "attention_mask": torch.empty(1, 1, 1, 1, dtype=torch.bool, device=packing.tokens.device),  # so none is made
        "kit_packing": packing,
    }


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    kit_packing: Packing | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as transformers' SDPA attention does, which enable_prefix_packing all that is not packed.

    Of a packed batch ``query`` is (1, heads, T, d), ``key`` and ``value`` are (1, heads or a part of them, T, d); the
    result is (1, T, heads, d). With no GPU it is computed in float32, whatever the type of what comes and goes: torch's
    flash backward in bfloat16 takes the CPU many times as long (tests/bench/levers.py).
    """
    if query.device.type == "cpu" and query.element_size() == 2:
        wide = query.float(), key.float(), value.float()
        output, _ = attention(module, *wide, attention_mask, dropout, scaling, kit_packing, **kwargs)
        return output.to(query.dtype), None
    if kit_packing is None:
        return sdpa_attention_forward(  # type: ignore[no-any-return]
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    attend = partial(scaled_dot_product_attention, dropout_p=dropout, scale=scaling)
    prefix_len, mask = kit_packing.prefix_len, kit_packing.mask
    key, value = (repeat_kv(heads, query.shape[1] // key.shape[1]) for heads in (key, value))
    if kit_packing.offsets is not None and query.dtype in varlen_attention.DTYPES:
        longest = kit_packing.shape[1]
        return varlen_attention.attend(query, key, value, kit_packing.offsets, longest, scaling), None
    suffix_heads = [
        _padded(heads[0, :, prefix_len:].transpose(0, 1), kit_packing).transpose(1, 2) for heads in (query, key, value)
    ]
    if not prefix_len:
        suffixes = attend(*suffix_heads, is_causal=True)
        return _rows(suffixes.transpose(1, 2), kit_packing).unsqueeze(0), None
    first = [heads[:, :, :prefix_len] for heads in (query, key, value)]
    seen = [
        torch.cat([heads.expand(len(suffix), -1, -1, -1), suffix], dim=2)
        for heads, suffix in zip(first[1:], suffix_heads[1:], strict=True)
    ]
    suffixes = attend(suffix_heads[0], seen[0], seen[1], attn_mask=mask)
    begin = attend(*first, is_causal=True)
    return torch.cat([begin[0].transpose(0, 1), _rows(suffixes.transpose(1, 2), kit_packing)]).unsqueeze(0), None


def _padded(rows: torch.Tensor, packing: Packing) -> torch.Tensor:
    """Return the suffixes of a row, (T - prefix_len, heads, d), as (B, longest suffix, heads, d)."""
    if packing.scatter_index is None:
        return rows.reshape(*packing.shape, *rows.shape[1:])
    count = packing.shape[0] * packing.shape[1]
    return _Put.apply(rows, packing.scatter_index, count).view(*packing.shape, *rows.shape[1:])  # type: ignore[no-untyped-call, no-any-return]


def _rows(padded: torch.Tensor, packing: Packing) -> torch.Tensor:
    """Return (T - prefix_len, heads, d), what is not padding of (B, longest suffix, heads, d)."""
    rows = padded.flatten(0, 1)
    return rows if packing.scatter_index is None else _Take.apply(rows, packing.scatter_index)  # type: ignore[no-untyped-call, no-any-return]


class _Put(torch.autograd.Function):  # type: ignore[misc]
    """Rows at their ``scatter_index`` among zeros. No index comes twice, so the gradient is taken as it is."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, scatter_index: torch.Tensor, count: int) -> torch.Tensor:
        ctx.scatter_index = scatter_index
        return rows.new_zeros(count, *rows.shape[1:]).index_copy_(0, scatter_index, rows)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return grad.index_select(0, ctx.scatter_index), None, None


class _Take(torch.autograd.Function):  # type: ignore[misc]
    """The rows at ``scatter_index``, as ``_Put`` the other way round."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, scatter_index: torch.Tensor) -> torch.Tensor:
        ctx.scatter_index, ctx.count = scatter_index, len(rows)
        return rows.index_select(0, scatter_index)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad.new_zeros(ctx.count, *grad.shape[1:]).index_copy_(0, ctx.scatter_index, grad), None

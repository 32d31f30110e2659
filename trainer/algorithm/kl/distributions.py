"""The KL over the whole vocabulary, KL(p || q) = sum p (log p - log q), from hidden states, some tokens at a time.

p is the policy's distribution of the next token, q the reference's. Neither model's logits are ever held for more than
``BLOCK`` tokens: a block takes 3 x ``BLOCK`` x vocabulary numbers in a pass and 2 in the way back, where both are
computed again. With z the logits of p over the temperature, H its entropy and y the sampled token::

    d log p(y) / dz = onehot(y) - p      dH / dz = -p (log p + H)      dKL / dz = p (log p - log q - KL)
"""

from typing import Any, NamedTuple

import torch
from torch.nn.functional import linear

from trainer.algorithm.kl.full_kl import BLOCK


class Head(NamedTuple):
    """What makes logits of hidden states: ``weight``, (words, hidden size), and ``bias``, (words,), or None."""

    weight: torch.Tensor
    bias: torch.Tensor | None = None


class Distributions(NamedTuple):
    """What is known of each token's distributions, (T,) each.

    The log-probabilities of the sampled token in both models, the policy's entropy, and the KL from the reference.
    """

    log_probs: torch.Tensor
    entropy: torch.Tensor
    ref_log_probs: torch.Tensor
    kl: torch.Tensor


def compare(
    hidden: torch.Tensor,
    head: Head,
    ref_hidden: torch.Tensor,
    ref_head: Head,
    labels: torch.Tensor,
    temperature: torch.Tensor,
    block: int = BLOCK,
) -> Distributions:
    """Return how the policy's distributions differ from the reference's.

    Gradients go to ``hidden`` and to the weight and bias of ``head``; what is of the reference is a constant.

    Args:
        hidden: (T, hidden size), the policy's last hidden states.
        head: the policy's.
        ref_hidden: (T, hidden size of the reference).
        ref_head: the reference's, of as many words.
        labels: (T,), the tokens that were sampled.
        temperature: (T,), what logits are divided by.
        block: tokens whose logits are held at once.
    """
    values = _Compare.apply(  # type: ignore[no-untyped-call]
        hidden, *head, ref_hidden.detach(), *ref_head, labels, temperature.unsqueeze(-1), block
    )
    return Distributions(*values)


class _Compare(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        ref_hidden: torch.Tensor,
        ref_weight: torch.Tensor,
        ref_bias: torch.Tensor | None,
        labels: torch.Tensor,
        temperature: torch.Tensor,
        block: int,
    ) -> tuple[torch.Tensor, ...]:
        ctx.save_for_backward(hidden, weight, bias, ref_hidden, ref_weight, ref_bias, labels, temperature)
        ctx.block = block
        parts: list[list[torch.Tensor]] = [[], [], [], []]
        for rows in _blocks(len(hidden), block):
            chosen = labels[rows].unsqueeze(-1)
            log_p = _log_softmax(hidden[rows], weight, bias, temperature[rows])
            log_q = _log_softmax(ref_hidden[rows], ref_weight, ref_bias, temperature[rows])
            log_probs, ref_log_probs = (
                log_probs_of_model.gather(-1, chosen).squeeze(-1) for log_probs_of_model in (log_p, log_q)
            )
            p = log_p.exp()
            entropy = -torch.linalg.vecdot(p, log_p)
            divergence = torch.linalg.vecdot(p, log_q.neg_().add_(log_p))
            for part, values in zip(parts, (log_probs, entropy, ref_log_probs, divergence), strict=True):
                part.append(values)
        log_probs, entropy, ref_log_probs, divergence = (
            torch.cat(part) if part else hidden.new_zeros(0, dtype=_precise(hidden)) for part in parts
        )
        ctx.mark_non_differentiable(ref_log_probs)
        ctx.statistics = entropy.detach(), divergence.detach()
        return log_probs, entropy, ref_log_probs, divergence

    @staticmethod
    def backward(
        ctx: Any, of_log_probs: torch.Tensor, of_entropy: torch.Tensor, _: Any, of_kl: torch.Tensor
    ) -> tuple[torch.Tensor | None, ...]:
        hidden, weight, bias, ref_hidden, ref_weight, ref_bias, labels, temperature = ctx.saved_tensors
        entropies, divergences = ctx.statistics
        to_hidden, to_weight, to_bias = ctx.needs_input_grad[:3]
        hidden_grad = torch.empty_like(hidden) if to_hidden else None
        # Sums over many blocks: in 16 bits they would lose what a block adds.
        weight_grad = torch.zeros_like(weight, dtype=_precise(weight)) if to_weight else None
        bias_grad = torch.zeros_like(bias, dtype=_precise(bias)) if to_bias else None
        for rows in _blocks(len(hidden), ctx.block):
            log_p = _log_softmax(hidden[rows], weight, bias, temperature[rows])
            log_q = _log_softmax(ref_hidden[rows], ref_weight, ref_bias, temperature[rows])
            by_log_probs, by_entropy, by_kl, entropy, divergence = (
                column[rows].unsqueeze(-1) for column in (of_log_probs, of_entropy, of_kl, entropies, divergences)
            )
            # grad = p (by_kl (log p - log q - KL) - by_entropy (log p + H) - by_log_probs) + by_log_probs onehot
            grad = log_q.neg_().add_(log_p).sub_(divergence).mul_(by_kl)
            grad.addcmul_(log_p, by_entropy, value=-1).sub_(by_entropy * entropy + by_log_probs)
            grad.mul_(log_p.exp_()).scatter_add_(-1, labels[rows].unsqueeze(-1), by_log_probs)
            grad = grad.div_(temperature[rows]).to(weight.dtype)
            if hidden_grad is not None:
                hidden_grad[rows] = (grad @ weight).to(hidden.dtype)
            if weight_grad is not None:
                weight_grad += grad.T @ hidden[rows].to(weight.dtype)
            if bias_grad is not None:
                bias_grad += grad.sum(0)
        grads = hidden_grad, _as(weight_grad, weight), _as(bias_grad, bias)
        return *grads, None, None, None, None, None, None


def _blocks(tokens: int, size: int) -> list[slice]:
    return [slice(first, first + size) for first in range(0, tokens, size)]


def _precise(tensor: torch.Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def _as(grad: torch.Tensor | None, tensor: torch.Tensor) -> torch.Tensor | None:
    return None if grad is None else grad.to(tensor.dtype)


def _log_softmax(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, temperature: torch.Tensor
) -> torch.Tensor:
    """Return (block, words): multiplied in the weights' type, as the model does, and precise from there on."""
    with torch.autocast(hidden.device.type, enabled=False):  # the way back has none, and computes the same again
        logits = linear(hidden.to(weight.dtype), weight, bias).to(_precise(weight)).div_(temperature)
    return logits.sub_(logits.logsumexp(-1, keepdim=True))

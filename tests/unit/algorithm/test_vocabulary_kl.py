"""The KL over the whole vocabulary, held against distributions that are held whole."""

import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from trainer.algorithm.kl.distributions import Head, compare

TOKENS, HIDDEN, WORDS = 37, 8, 50


def tensors(dtype: torch.dtype = torch.float64, bias: bool = False):
    """A policy's and a reference's hidden states and heads, sampled tokens, temperatures."""
    generator = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    hidden, ref_hidden = normal(TOKENS, HIDDEN), normal(TOKENS, HIDDEN)
    heads = [Head(normal(WORDS, HIDDEN), normal(WORDS) if bias else None) for _ in range(2)]
    labels = torch.randint(WORDS, (TOKENS,), generator=generator)
    temperature = 0.5 + torch.rand(TOKENS, generator=generator, dtype=torch.float64)
    return hidden, heads[0], ref_hidden, heads[1], labels, temperature.to(torch.promote_types(dtype, torch.float32))


def dense(hidden, head, ref_hidden, ref_head, labels, temperature):
    """The same by torch's own distributions, which hold everything."""
    logits, ref_logits = (
        torch.nn.functional.linear(states, *of).to(temperature.dtype) / temperature.unsqueeze(-1)
        for states, of in ((hidden, head), (ref_hidden, ref_head))
    )
    policy, reference = Categorical(logits=logits), Categorical(logits=ref_logits)
    return (
        policy.log_prob(labels),
        policy.entropy(),
        reference.log_prob(labels),
        kl_divergence(policy, reference),
    )


@pytest.mark.parametrize("block", [1, 5, TOKENS, 256])
@pytest.mark.parametrize("bias", [False, True])
def test_values_and_gradients_are_those_of_whole_distributions(bias: bool, block: int) -> None:
    hidden, head, *rest = tensors(bias=bias)
    leaves = [hidden, *(each for each in head if each is not None)]
    weights = torch.randn(3, TOKENS, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    results = []
    for of in (dense, lambda *args: compare(*args, block=block)):
        for leaf in leaves:
            leaf.requires_grad_().grad = None
        values = of(hidden, head, *rest)
        log_probs, entropy, _, divergence = values
        (weights * torch.stack([log_probs, entropy, divergence])).sum().backward()
        results.append(([value.detach() for value in values], [leaf.grad for leaf in leaves]))
    (expected, expected_grads), (ours, grads) = results
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(grads, expected_grads, rtol=0, atol=1e-11)


def test_gradients_are_those_of_small_differences() -> None:
    hidden, head, *rest = tensors()
    inputs = (hidden.requires_grad_(), head.weight.requires_grad_())

    def function(states: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = compare(states, Head(weight), *rest, block=10)
        return values.log_probs, values.entropy, values.kl

    assert torch.autograd.gradcheck(function, inputs)


def test_nothing_is_computed_for_a_frozen_head() -> None:
    hidden, head, *rest = tensors()
    compare(hidden.requires_grad_(), head, *rest).kl.sum().backward()
    assert hidden.grad is not None
    assert head.weight.grad is None


def test_16_bits_are_right_within_their_rounding() -> None:
    """Hidden states and weights of 16 bits are exact numbers too: the products alone are rounded, to 2^-8."""
    arguments = tensors(torch.bfloat16)
    precise = [
        Head(*(each if each is None else each.double() for each in value)) if isinstance(value, Head) else value
        for value in arguments
    ]
    precise = [
        value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value for value in precise
    ]
    ours, exact = compare(*arguments, block=16), compare(*precise)
    largest = float(torch.nn.functional.linear(precise[0], precise[1].weight).abs().max())
    for value, wanted in zip(ours, exact, strict=True):
        assert value.dtype == torch.float32
        assert (value - wanted).abs().max() < 4 * largest * 2**-8 / float(arguments[-1].min())


def test_it_is_zero_for_equal_models_and_never_below() -> None:
    hidden, head, ref_hidden, ref_head, labels, temperature = tensors()
    same = compare(hidden, head, hidden, head, labels, temperature)
    assert same.kl.abs().max() < 1e-13
    assert torch.equal(same.log_probs, same.ref_log_probs)
    assert compare(hidden, head, ref_hidden, ref_head, labels, temperature).kl.min() > 0


def test_there_may_be_no_token() -> None:
    hidden, head, ref_hidden, ref_head, labels, temperature = tensors()
    values = compare(hidden[:0].requires_grad_(), head, ref_hidden[:0], ref_head, labels[:0], temperature[:0])
    assert all(len(value) == 0 for value in values)
    values.kl.sum().backward()

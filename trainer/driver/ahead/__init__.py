"""Sampling ahead of the updates, and vLLM on devices of its own."""

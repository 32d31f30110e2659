"""Sampling in batches: verl's rollout for single-turn text, without its Python for each sample."""

"""Reward models by architecture: input format, scoring head, weights."""

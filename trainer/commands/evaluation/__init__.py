"""Answers of a model to held-out prompts, and the table of their scores."""

"""Graders in processes of their own that are killed at their deadline."""

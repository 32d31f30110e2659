"""Prompts in, verl parquet out; and the built-in task and models for a machine with no hub."""

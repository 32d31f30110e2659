"""Checkpoints of a run: when they are saved, and where their parts are on several machines."""

"""Prompts in tokens: enough of them for a step, and their lengths."""

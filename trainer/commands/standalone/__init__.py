"""Commands that need no environment: standard library alone, and started before set-up."""

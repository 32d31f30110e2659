"""How one response is scored."""

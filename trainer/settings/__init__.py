"""What a person asks for: knobs, overrides, and what of them does not go together. Runs in the launcher."""

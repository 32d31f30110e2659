"""From a sample to what the judge is asked: presets, templates, fences around texts that nobody trusts."""

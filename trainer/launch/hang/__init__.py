"""What a run waits for when nothing moves any more: stacks of all its processes, and what they say."""

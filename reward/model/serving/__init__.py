"""Where a reward model runs: in a Ray actor, in this process, or behind HTTP."""

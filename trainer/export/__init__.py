"""From a checkpoint to a model that others load. Runs in the launcher, the export itself in a process of its own."""

"""A sample of the answers, scored by ``--audit_fn`` beside the training: nothing here reaches an advantage."""

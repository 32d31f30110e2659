"""Whether vLLM samples with the actor's weights: checksums of both, which the driver compares."""

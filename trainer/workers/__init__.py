"""What runs inside the Ray workers of verl and in vLLM's servers."""

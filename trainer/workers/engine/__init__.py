"""Forward passes of FSDP models: packing, attention, and the parts of the output that are read."""

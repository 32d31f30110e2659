"""Tasks of several turns, tried before a launch: environments and tools."""

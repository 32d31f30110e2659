"""What a run will take of memory and disk, foretold from ``config.json`` and verl's configuration alone."""

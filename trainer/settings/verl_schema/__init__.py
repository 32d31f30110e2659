"""What verl's own settings may be: names, types, words and ranges, read from verl's files without importing it."""

"""verl's configuration, and its process from start to end. Runs in the launcher."""

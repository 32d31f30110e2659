"""verl's processes from start to end, and what ended them. Runs in the launcher."""

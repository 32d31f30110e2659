"""What a person gives: flags, a file of them, overrides for verl; and what a run was given before."""

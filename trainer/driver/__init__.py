"""The PPO trainer and what it does to a step. Runs in verl's task runner, one process a run."""

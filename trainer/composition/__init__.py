"""From settings and what the checks found out to the configuration of verl. Runs in the launcher."""

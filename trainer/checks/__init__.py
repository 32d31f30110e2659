"""What is looked at before a launch. Runs in the launcher."""

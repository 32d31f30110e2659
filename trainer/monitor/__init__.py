"""What a person sees of a run: lines, live screen, alarms, report. Runs in the launcher."""

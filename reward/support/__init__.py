"""What all of reward/ stands on: errors, texts of messages, secrets, moments. Imports nothing of the rest."""

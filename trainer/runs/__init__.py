"""A run's folder: name, lock, checkpoints, resume, export. Used by the launcher and by the driver."""

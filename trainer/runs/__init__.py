"""A run's folder: name, lock, checkpoints, resume. Used by the launcher and by the driver."""

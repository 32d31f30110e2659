"""Before there is an environment: interpreter, locks, wheelhouse. Standard library alone."""

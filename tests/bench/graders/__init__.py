"""The kit's rules beside other projects' graders, tests and labels: ``python -m tests.bench.graders COPIES``."""

"""The side of the code under test: what it answers is only believed by its form."""

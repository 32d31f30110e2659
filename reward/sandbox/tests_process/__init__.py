"""The side of the tests: it sees them and the stand-ins of the objects of the code, never the objects."""

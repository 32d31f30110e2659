"""Objects, containers and streams that the tests and the code have a copy each of, which messages keep alike."""

"""State of the tests' process that the code's process takes over: generators, limits, standard input."""

"""The tests' end of the pipes to the code's process: questions, answers, and stand-ins for its objects."""

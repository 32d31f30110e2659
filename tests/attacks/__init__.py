"""Tables of attacks and bad input, one file a kind. Each is run by a test of the part that it attacks."""

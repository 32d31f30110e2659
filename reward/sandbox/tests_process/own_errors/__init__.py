"""Whose an error is that ends the tests: the code's, or that of their own words."""

"""Code of no use, by which it shows whether tests of code decide anything."""

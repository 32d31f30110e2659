"""Functions of libraries that take what the code returned: here they are as strict as the tests believe them to be."""

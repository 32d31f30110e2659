"""Which choice of a question a response names: its letter, or its words."""

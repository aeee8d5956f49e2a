"""Mutators: each makes another content of one, with the help of a second, by a random generator alone."""

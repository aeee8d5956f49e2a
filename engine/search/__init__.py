"""Searches in compiled code: loops over the simulator without Python in between, in chunks that are charged before."""

"""Searches in compiled code: loops over the simulator that run in chunks; each chunk is charged before it begins."""

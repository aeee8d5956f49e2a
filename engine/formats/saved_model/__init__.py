"""Reads a zipped SavedModel, and writes a new one with one placed signature."""

"""Data with which pages explain placements, for browsers."""

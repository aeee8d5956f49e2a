"""The commands of `python -m engine`, a file each, and the lines in which they tell what was read."""

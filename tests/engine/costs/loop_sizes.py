"""The sizes of the loops of `loop_containers.py`, for tests that do not load TensorFlow."""

ROWS, WIDTH = 256, 64
ELEMENT = 4 * ROWS * WIDTH
"""bytes of what a trip puts into a container"""
TRIPS, INNER = 7, 3

"""Reads and writes files of graphs, a row a format: checks without TensorFlow, reads and costs them in one child."""

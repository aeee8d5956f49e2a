"""Evaluates a graph's tensors without running it: shapes, small values, elements of lists, trips, branches.

Nothing of the graph is run. TensorFlow's own shape functions are called op by op on the known inputs; the small
integers from which shapes are computed are evaluated here, with a bound on their size. Runs in the child.
"""

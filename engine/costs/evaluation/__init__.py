"""What can be known of a graph's tensors before it runs: shapes, small values, what lists hold, trips, branches.

Nothing of the graph is run. TensorFlow's own shape functions are asked op by op about inputs that are known by
themselves; the small integers that shapes are computed from are evaluated here, with a bound on their size. Runs in the
child.
"""

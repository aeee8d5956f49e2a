"""Runs graphs to measure them: op times for `costs.measured`, and step times of placements beside simulated ones.

Nothing else in the engine executes an uploaded graph. It happens only on request, in a child with limits, and only for
op types that `runnable.py` allows. The modules whose names end in `_in_child` are the child's side.
"""

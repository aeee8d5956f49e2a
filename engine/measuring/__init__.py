"""Running graphs to measure them: op times for `costs.measured`, and step times of placements beside simulated ones.

It executes what was uploaded, which nothing else in the engine does: only when asked to, in a child with limits, and
only op types that `runnable.py` allows. The modules whose names end in `_in_child` are the child's side.
"""

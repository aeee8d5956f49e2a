"""Groups ops: co-location, joining, merging, contraction; callers use `grouping.py`."""

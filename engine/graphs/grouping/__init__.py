"""Ops in groups: co-located, merged, contracted; `grouping.py` is the front door."""

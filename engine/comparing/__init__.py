"""Comparisons of methods × seeds on one graph and cluster: they run on all cores, and are summarised and drawn."""

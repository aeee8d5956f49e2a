"""The methods that are evaluated beside every run, so that its page can compare."""

BASELINES = ("single_device", "cpu_only", "random", "scotch", "human_expert")
"""quick ones: a second or less each. The expert has a placement only where names show layers or branches."""

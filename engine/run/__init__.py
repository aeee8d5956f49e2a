"""A run: its request, the problem that it places, the baselines, the method, and the report."""

"""Placement problems drawn at random, for a policy to learn from: graphs of many shapes on clusters of many kinds."""

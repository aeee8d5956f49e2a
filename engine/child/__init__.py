"""Bounded processes that do what is asked of untrusted files."""

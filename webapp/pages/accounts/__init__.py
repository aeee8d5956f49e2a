"""Logging in, one's own account, and the pages of operators."""

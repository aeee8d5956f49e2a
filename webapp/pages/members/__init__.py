"""The members of a project."""

"""What keeps the application from starting."""


class StartError(Exception):
    """One line for the person who started it: what, and what to do."""

"""The error of an application that cannot start."""


class StartError(Exception):
    """One line for the user: what is wrong, and what to do."""

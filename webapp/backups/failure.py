"""The error of a backup or a restore."""


class BackupError(Exception):
    """One line for the operator: what is wrong, and what to do."""

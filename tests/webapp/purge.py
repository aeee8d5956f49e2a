"""The purge of what a test has deleted."""

from webapp.jobs.purging import purge_step


def purge() -> int:
    """Purge all; returns the number of steps."""
    steps = 0
    while purge_step():
        steps += 1
    return steps

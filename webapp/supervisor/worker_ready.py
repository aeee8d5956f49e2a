"""Loaded by the supervisor's workers (`--include`): prints a line when they take tasks."""

import os

from celery import signals

READY_LINE = "placeto: this worker takes tasks"


def print_that_tasks_are_taken(**_sender: object) -> None:
    """Write the line directly to the pipe: Celery turns printed text into log records."""
    os.write(1, f"{READY_LINE}\n".encode())


signals.worker_ready.connect(print_that_tasks_are_taken)

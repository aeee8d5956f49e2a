"""Loaded by the supervisor's workers (`--include`): says when they take tasks."""

import os

from celery import signals

READY_LINE = "placeto: this worker takes tasks"


def tell_that_tasks_are_taken(**_sender: object) -> None:
    """Write the line to the pipe itself: Celery turns what is printed into log records."""
    os.write(1, f"{READY_LINE}\n".encode())


signals.worker_ready.connect(tell_that_tasks_are_taken)

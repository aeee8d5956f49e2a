"""Loaded by the supervisor's workers (`--include`): tells when they take tasks; no child of theirs outlives them."""

import os

from celery import signals

from webapp.supervisor.processes import die_with_parent

READY_LINE = "placeto: this worker takes tasks"


def tell_that_tasks_are_taken(**_sender: object) -> None:
    """Write the line to the pipe itself: Celery turns what is printed into log records."""
    os.write(1, f"{READY_LINE}\n".encode())


def end_with_the_worker(**_sender: object) -> None:
    """A child in the middle of a task would not see that its worker was killed."""
    die_with_parent(os.getppid())


signals.worker_ready.connect(tell_that_tasks_are_taken)
signals.worker_process_init.connect(end_with_the_worker)

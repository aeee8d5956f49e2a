"""The task of the `gpu` queue that carries out runs."""

import uuid

from celery import shared_task

from webapp.runs.models import Run
from webapp.runs.placing import place_run


@shared_task(name=Run.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def place(run_id: str) -> None:
    """Carry out one run."""
    place_run(uuid.UUID(run_id))

"""The task of the `gpu` queue that runs send."""

from celery import shared_task

from webapp.jobs.turns import do_next
from webapp.runs.models import Run


@shared_task(name=Run.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def place(_run_id: str) -> None:
    """Do the job of the queue whose turn it is."""
    do_next(Run.QUEUE)

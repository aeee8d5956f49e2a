"""The one task that messages of the broker name. A message of another task, such as an older version's, is dropped."""

from celery import shared_task

from webapp.jobs import turns
from webapp.jobs.publishing import TASK


@shared_task(name=TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def do_next(queue: str) -> None:
    """Do the job of the queue whose turn it is."""
    turns.do_next(queue)

"""The task of the `gpu` queue that trainings send."""

from celery import shared_task

from webapp.jobs.turns import do_next
from webapp.policies.models import Policy


@shared_task(name=Policy.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def train(_policy_id: str) -> None:
    """Do the job of the queue whose turn it is."""
    do_next(Policy.QUEUE)

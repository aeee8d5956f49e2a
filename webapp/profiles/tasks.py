"""The task of the `execute` queue that profiles send."""

from celery import shared_task

from webapp.jobs.turns import do_next
from webapp.profiles.models import Profile


@shared_task(name=Profile.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def profile(_profile_id: str) -> None:
    """Measure the op times of the graph whose turn it is."""
    do_next(Profile.QUEUE)

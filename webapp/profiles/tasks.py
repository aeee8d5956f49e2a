"""The task of the `execute` queue that measures op times."""

import uuid

from celery import shared_task

from webapp.profiles.models import Profile
from webapp.profiles.profiling import profile_graph


@shared_task(name=Profile.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def profile(profile_id: str) -> None:
    """Measure one graph's op times."""
    profile_graph(uuid.UUID(profile_id))

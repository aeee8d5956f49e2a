"""Jobs: work on rows that is neither lost nor done twice."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete


class JobsConfig(AppConfig):
    """The app `jobs`."""

    name = "webapp.jobs"
    label = "jobs"

    def ready(self) -> None:
        from webapp.jobs.reaper import job_models

        for model in job_models():
            post_delete.connect(_forget, sender=model)


def _forget(instance: Any, **_: Any) -> None:
    """Delete the events and the state of a deleted job, in the same transaction."""
    from webapp.jobs.models import Event, SavedState
    from webapp.jobs.notices import announce

    announce(instance.id)
    Event.objects.filter(job_id=instance.id).delete()
    SavedState.objects.filter(job_id=instance.id).delete()

"""Jobs: what workers do for rows, without losing or doubling it."""

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
    """A job that is deleted, by whatever way, takes its events and its state with it, in the same transaction."""
    from webapp.jobs.models import Event, SavedState
    from webapp.jobs.notices import announce

    announce(instance.id)
    Event.objects.filter(job_id=instance.id).delete()
    SavedState.objects.filter(job_id=instance.id).delete()

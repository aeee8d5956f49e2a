"""Cancelling a job."""

from django.db.models import BooleanField, Case, CharField, DateTimeField, F, Value, When
from django.db.models.functions import Now

from webapp.jobs.job import CHANGED, Job
from webapp.jobs.notices import announce


def cancel(job: Job) -> bool:
    """Cancel a queued job at once, or ask its worker to. False if it has already ended.

    One statement, since between two a worker could claim the job or give it back.
    """
    model = type(job)
    row = model._default_manager.filter(id=job.id, status__in=(job.QUEUED, job.WORKING))
    waits = {"status": job.QUEUED}
    changed = row.update(
        status=Case(When(**waits, then=Value(job.CANCELLED)), default=F("status"), output_field=CharField()),
        finished_at=Case(When(**waits, then=Now()), default=F("finished_at"), output_field=DateTimeField()),
        cancel_requested=Case(When(**waits, then=Value(False)), default=Value(True), output_field=BooleanField()),
        **CHANGED,
    )
    announce(job.id)
    model.clean_up_ended()  # a job that was queued again has left a state
    return changed == 1

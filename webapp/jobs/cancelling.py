"""Cancelling a job."""

from django.db.models.functions import Now

from webapp.jobs.job import Job


def cancel(job: Job) -> bool:
    """Cancel a queued job at once; ask the worker of a working one to. False if it has ended already."""
    row = type(job)._default_manager.filter(id=job.id)
    if row.filter(status=job.QUEUED).update(status=job.CANCELLED, finished_at=Now()) == 1:
        return True
    return row.filter(status=job.WORKING).update(cancel_requested=True) == 1

"""Purges deleted rows: their events, their files, and the rows themselves, in small transactions.

The rows are found by their mark, so that any process can go on after another was killed.
"""

import uuid

from django.db import transaction

from webapp.jobs.deletion import Deletable, deletable_models, delete_what_belongs_to
from webapp.jobs.job import Job
from webapp.jobs.models import Event, SavedState

EVENTS_A_STEP = 2000
ROWS_A_STEP = 50
"""rows of jobs, projects and comparisons; some have an answer or a graph of a few megabytes"""


def purge_step() -> bool:
    """Purge some rows in one transaction; False if none were left."""
    for model in deletable_models():
        deleted = model.all_rows.filter(deleted_at__isnull=False).order_by("deleted_at")
        ids = list(deleted.values_list("pk", flat=True)[:ROWS_A_STEP])
        if ids:
            _purge_some(model, ids)
            return True
    return False


def _purge_some(model: type[Deletable], ids: list[uuid.UUID]) -> None:
    """Purge some of the events of the rows; once they have none, their files and the rows."""
    if issubclass(model, Job):
        events = Event.objects.filter(job_id__in=ids)
        Event.objects.filter(id__in=list(events.values_list("id", flat=True)[:EVENTS_A_STEP])).delete()
        if events.exists():
            return
    if delete_what_belongs_to(model, ids):
        return  # a later step purges it first
    rows = model.all_rows.filter(pk__in=ids)
    for row in rows:
        for path in row.paths:  # before the row: after a kill in between, the next step finds them
            path.unlink(missing_ok=True)
    with transaction.atomic():
        SavedState.objects.filter(job_id__in=ids).delete()
        rows.delete()

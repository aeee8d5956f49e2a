"""The one read path of events, for the live view and for replay."""

import uuid

from webapp.jobs.models import Event


def events_after(job_id: uuid.UUID, seq: int, limit: int) -> list[tuple[int, str]]:
    """At most `limit` events of the job that come after event `seq`, in order: number and JSON text."""
    rows = Event.objects.filter(job_id=job_id, seq__gt=seq).order_by("seq")
    return list(rows.values_list("seq", "data")[:limit])

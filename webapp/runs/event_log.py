"""The one read path of events, for the live view and for replay."""

import uuid

from webapp.runs.models import Event


def events_after(run_id: uuid.UUID, seq: int, limit: int) -> list[tuple[int, str]]:
    """At most `limit` events of the run that come after event `seq`, in order: number and JSON text."""
    rows = Event.objects.filter(run_id=run_id, seq__gt=seq).order_by("seq")
    return list(rows.values_list("seq", "data")[:limit])

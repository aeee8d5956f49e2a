"""The one read path of events, for the live view and for replay."""

import uuid
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from django.db.models.functions import Length

from webapp.jobs.models import Event


def events_after(job_id: uuid.UUID, seq: int, limit: int) -> list[tuple[int, str]]:
    """At most `limit` events of the job that come after event `seq`, in order: number and JSON text."""
    rows = Event.objects.filter(job_id=job_id, seq__gt=seq).order_by("seq")
    return list(rows.values_list("seq", "data")[:limit])


MOST_EVENTS_AT_ONCE = 2000
MOST_CHARACTERS_AT_ONCE = 4 * 1024**2
"""but at least one event: an episode of 200,000 groups has 400,000"""


def texts_in_turn(job_id: uuid.UUID, kinds: Sequence[str] = ()) -> Iterator[str]:
    """The JSON texts of all events of the job, or of those types alone, in order; a bounded part of them in memory."""
    rows = Event.objects.filter(job_id=job_id, **({"type__in": kinds} if kinds else {})).order_by("seq")
    sizes = rows.annotate(characters=Length("data")).values_list("seq", "characters")
    last = 0
    while following := list(sizes.filter(seq__gt=last)[:MOST_EVENTS_AT_ONCE]):
        ends = list(accumulate(characters for _, characters in following))
        count = max(1, bisect_right(ends, MOST_CHARACTERS_AT_ONCE))
        first, last = following[0][0], following[count - 1][0]
        yield from list(rows.filter(seq__gte=first, seq__lte=last).values_list("data", flat=True))

"""Summaries of runs' events, stored with the events."""

import json
import uuid

from django.db.models import F
from django.db.models.functions import Coalesce

from engine import api
from webapp.jobs.event_log import events_after
from webapp.runs.models import Run, RunSummary

EVENTS_AT_ONCE = 2000


def summary_of(run: Run) -> api.ComparisonListener:
    """The summary of the events of `run` up to its last one.

    Version 0.1.0 wrote no summaries: where one is behind, this reads the missing events, until `keep_missing_summaries`
    has stored it.
    """
    kept: RunSummary | None = getattr(run, "summary", None)
    listener = api.ComparisonListener() if kept is None else _listener(kept)
    seq = 0 if kept is None else kept.seq
    if seq >= run.last_seq:
        return listener
    while rows := events_after(run.id, seq, EVENTS_AT_ONCE):
        for number, text in rows:
            listener.add_json(json.loads(text))
            seq = number
    return listener


def keep_summary(run: Run) -> None:
    """Store the summary of all events of `run`."""
    store_summary(run.id, run.last_seq, summary_of(run).to_json())


def store_summary(run_id: uuid.UUID, seq: int, content: dict[str, api.Json]) -> None:
    """Store the summary of the events up to `seq`, unless a later one is stored already."""
    RunSummary.objects.bulk_create([RunSummary(run_id=run_id, seq=0, content={})], ignore_conflicts=True)
    RunSummary.objects.filter(run_id=run_id, seq__lt=seq).update(seq=seq, content=content)


def _listener(kept: RunSummary) -> api.ComparisonListener:
    assert isinstance(kept.content, dict)
    return api.ComparisonListener.from_json(kept.content)


class MissingSummaries:
    """The chore that stores the summaries which an older version has not: one run a step, until none is left."""

    def __init__(self) -> None:
        self._all_there = False

    def __call__(self) -> bool:
        """Do one; False if none is left. Runs that work store their own."""
        if self._all_there:
            return False
        summed = Run.objects.exclude(status=Run.RUNNING).annotate(summed=Coalesce("summary__seq", 0))
        run = summed.filter(last_seq__gt=F("summed")).select_related("summary").order_by().first()
        if run is None:
            self._all_there = True
            return False
        keep_summary(run)
        return True


keep_missing_summaries = MissingSummaries()

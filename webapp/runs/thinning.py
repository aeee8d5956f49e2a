"""Thins the events of runs that ended long ago: every improvement stays, and an even selection of the rest.

The policy that a run has kept goes at the same time, of a run with few events too, which keeps all of them.

Events keep their numbers, so that a thinned run has gaps. What stays depends on an event's number and on the events
that stay before it: after a kill a new start thins the same run to the same events.
"""

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from webapp.jobs.job import CHANGED
from webapp.jobs.models import Event, bytes_of_events
from webapp.runs.models import KeptPolicy, Run
from webapp.runs.run_summary import keep_summary

EVENTS_A_STEP = 2000
RUNS_A_STEP = 500
"""of those that keep all events"""
KEPT_OF_THE_REST = 1000
"""events of a run that stay beside its improvements; a run with fewer events keeps all"""
ENDED = (Run.DONE, Run.FAILED, Run.CANCELLED)
THINNED = ("episode", "update", "progress")
"""the types of events of which some go; of the others, such as baselines and the report, all stay"""


@dataclass(slots=True)
class Thinning:
    """One run's thinning, from its first event to its last."""

    run_id: uuid.UUID
    last_seq: int
    last_episode_seq: int
    seq: int = 0
    """of the last event that was looked at"""
    kept: int = 0
    kept_bytes: int = 0
    best_us: float = float("inf")
    episode_seen: bool = False

    def step(self) -> bool:
        """Thin the next events in one transaction; False once the run is thinned."""
        events = Event.objects.filter(job_id=self.run_id, seq__gt=self.seq).order_by("seq")[:EVENTS_A_STEP]
        if not events:
            kept = {"kept_events": self.kept, "event_bytes": self.kept_bytes, **CHANGED}
            if Run.objects.filter(id=self.run_id, status__in=ENDED, last_seq=self.last_seq).update(**kept):
                KeptPolicy.objects.filter(run=self.run_id).delete()
            return False
        stays = [event for event in events if self._stays(event)]
        ids = {event.id for event in stays}
        with transaction.atomic():
            Event.objects.filter(id__in=[event.id for event in events if event.id not in ids]).delete()
        self.kept += len(stays)
        self.kept_bytes += bytes_of_events(stays)
        self.seq = events[len(events) - 1].seq
        return True

    def _stays(self, event: Event) -> bool:
        if event.type not in THINNED or event.seq in (self.last_episode_seq, self.last_seq):
            return True
        stride = -(-self.last_seq // KEPT_OF_THE_REST)
        return self._improves(event) or event.seq % stride == 0

    def _improves(self, event: Event) -> bool:
        """Whether it is the first episode, or the fastest feasible one so far."""
        if event.type != "episode":
            return False
        content = json.loads(event.data)
        first, self.episode_seen = not self.episode_seen, True
        if content["feasible"] and content["step_time_us"] < self.best_us:
            self.best_us = content["step_time_us"]
            return True
        return first


class ThinOldRuns:
    """The chore: one run after another."""

    def __init__(self) -> None:
        self._current: Thinning | None = None

    def __call__(self) -> bool:
        """One step; False if no run has to be thinned."""
        if not settings.EVENTS_DAYS:
            return False
        if self._current is not None:
            if not self._current.step():
                self._current = None
            return True
        old = Run.objects.filter(kept_events=None, finished_at__lt=Now() - timedelta(days=settings.EVENTS_DAYS))
        old = old.filter(status__in=ENDED).order_by("finished_at")
        short = list(old.filter(last_seq__lte=KEPT_OF_THE_REST).values_list("id", flat=True)[:RUNS_A_STEP])
        if short:
            with transaction.atomic():
                Run.objects.filter(id__in=short).update(kept_events=F("last_seq"))
                KeptPolicy.objects.filter(run__in=short).delete()
            return True
        self._current = _begin(old)
        return self._current is not None


def _begin(old: QuerySet[Run]) -> Thinning | None:
    run = old.select_related("summary").first()
    if run is None:
        return None
    keep_summary(run)  # of all events, before some of them go
    episodes = run.events.filter(type="episode").order_by("-seq")
    return Thinning(run.id, run.last_seq, episodes.values_list("seq", flat=True).first() or 0)


thin_old_runs = ThinOldRuns()
